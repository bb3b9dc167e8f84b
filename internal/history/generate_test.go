package history_test

import (
	"os"
	"testing"
	"time"

	"referee.example/internal/history"
	"referee.example/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestGenerate(t *testing.T) {
	db := pgtest.New(t)
	begin := time.Now()
	size, err := history.Generate(t.Context(), db.URL, history.Options{Games: 10_000, Events: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v in %v", size, time.Since(begin))
}
