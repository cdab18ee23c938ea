$ free format, no executive section
GRID,1,,0,0,0
GRID,2,,1,0,0
GRID,3,,0,1,0
GRID,4,,0,0,1
GRID,5,,0.5,0,0
GRID,6,,0.5,0.5,0
GRID,7,,0,0.5,0
GRID,8,,0,0,0.5
GRID,9,,0.5,0,0.5
GRID,10,,0,0.5,0.5
CTETRA,1,3,1,2,3,4,5,6,+
+,7,8,9,10
