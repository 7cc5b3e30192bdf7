"""What tables that others published tell about people for certain."""
