# value count cumulative
1 3 0.25
2 6 0.75
3.5 3 1.0
