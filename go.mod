module referee.example

go 1.26
