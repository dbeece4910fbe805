
x