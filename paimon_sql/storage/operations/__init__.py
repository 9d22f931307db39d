"""Operations that change a table through a transaction."""
