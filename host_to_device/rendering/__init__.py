"""How the library shows anything: colours, SVG, tables, units, animations."""
