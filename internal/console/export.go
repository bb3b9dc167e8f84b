package console

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	refereev1 "referee.example/proto/referee/v1"
)

// writeTimeout is how long a viewer may take to receive one part of a stream.
const writeTimeout = 15 * time.Second

// exportJSON sends a match's ended games as lines of JSON, as `referee verify`
// reads them.
func (c *console) exportJSON(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	return c.export(ctx, w, r.PathValue("match"), refereev1.ExportFormat_EXPORT_FORMAT_JSON, "application/jsonl", ".jsonl")
}

// exportText sends them as text records, as `referee import` reads them.
func (c *console) exportText(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	return c.export(ctx, w, r.PathValue("match"), refereev1.ExportFormat_EXPORT_FORMAT_TEXT, "text/plain", ".txt")
}

func (c *console) export(ctx context.Context, w http.ResponseWriter, id string, format refereev1.ExportFormat, kind, extension string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.audit.ExportGames(ctx, &refereev1.ExportGamesRequest{MatchId: id, Format: format})
	if err != nil {
		return err
	}
	control := http.NewResponseController(w)
	for sent := 0; ; sent++ {
		answer, err := stream.Recv()
		if err != nil && !errors.Is(err, io.EOF) && sent == 0 {
			return err // nothing has been sent, so that it can still be told
		}
		if sent == 0 {
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			w.Header().Set("Content-Disposition", `attachment; filename="match-`+id+extension+`"`)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
			_, err = io.WriteString(w, string(answer.GetJson())+answer.GetText()+"\n")
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the viewer must see that the file is not whole
		}
	}
}
