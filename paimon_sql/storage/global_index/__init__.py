"""Global indexes of tables with data evolution: building them, looking rows up in them, and keeping them true."""
