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

// export sends a match's ended games as lines of JSON, as `referee verify` reads
// them.
func (c *console) export(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("match")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.audit.ExportGames(ctx, &refereev1.ExportGamesRequest{MatchId: id})
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
			w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
			w.Header().Set("Content-Disposition", `attachment; filename="match-`+id+`.jsonl"`)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
			_, err = w.Write(append(answer.GetJson(), '\n'))
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the viewer must see that the file is not whole
		}
	}
}
