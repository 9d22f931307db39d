"""The catalog that a server keeps which speaks the open REST specification of Apache Paimon."""
