"""Modal tables in the forms that laboratories write."""

from __future__ import annotations

# the same two modes at a1, a2, a3
TABLES = {
    "rows": "mode,frequency_hz,damping_ratio,a1,a2,a3\n1,2.0,0.037,0.34,0.73,1\n2,5.8,0.008,-0.9,-0.6,1\n",
    "units in headings": "Mode,Frequency [Hz],Damping (%),a1,a2,a3\n1,2.0,3.7,0.34,0.73,1\n2,5.8,0.8,-0.9,-0.6,1\n",
    "German, decimal commas": "Nr;Eigenfrequenz (Hz);Dämpfung [%];a1;a2;a3\n"
    "1;2,0;3,7;0,34;0,73;1\n2;5,8;0,8;-0,9;-0,6;1\n",
    "circular frequencies": "omega,zeta,a1,a2,a3\n"
    "12.566370614359172,0.037,0.34,0.73,1\n36.4424747816416,0.008,-0.9,-0.6,1\n",
    "a row of units": "f,xi,a1,a2,a3\nHz,%,-,-,-\n2.0,3.7,0.34,0.73,1\n5.8,0.8,-0.9,-0.6,1\n",
    "columns": ",Mode 1,Mode 2\nFrequency (Hz),2.0,5.8\nDamping (%),3.7,0.8\na1,0.34,-0.9\na2,0.73,-0.6\na3,1,1\n",
    "columns with units": "mode\tunit\t1\t2\n"
    "f\tHz\t2.0\t5.8\nzeta\t%\t3.7\t0.8\na1\t\t0.34\t-0.9\na2\t\t0.73\t-0.6\na3\t\t1\t1\n",
    "lines before it": "Project: Bridge 7\nDate: 2024-03-01\n\n"
    "f/Hz,loss factor,a1,a2,a3\n2,0.074,0.34,0.73,1\n5.8,0.016,-0.9,-0.6,1\n",
    "blanks": "mode  frequency_hz  zeta  a1  a2  a3\n1  2.0  0.037  0.34  0.73  1\n2  5.8  0.008  -0.9  -0.6  1\n",
    "remarks beside it": "mode,f [Hz],zeta [-],MPC,remark,a1,a2,a3\n"
    "1,2.0,0.037,0.99,sway,0.34,0.73,1\n2,5.8,0.008,0.98,,-0.9,-0.6,1\n",
    "other units": "f [kHz],zeta,a1 [mm],a2 [mm],a3 [mm]\n0.002,0.037,340,730,1000\n0.0058,0.008,-900,-600,1000\n",
    "windows": "mode;frequency_hz;Dämpfung;a1;a2;a3\r\n1;2.0;0.037;0.34;0.73;1\r\n2;5.8;0.008;-0.9;-0.6;1\r\n",
}  # fmt: skip
