package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	refereev1 "referee.example/proto/referee/v1"
)

// line is a connection to a gRPC server on which many tables play, each one call
// after the other or all on one stream. It speaks HTTP/2 by its frames, a goroutine
// a connection, since what a client library does for a call is no cost of the
// server and would share its processors: pgbench, too, reads of an answer only that
// it came.
type line struct {
	conn     net.Conn
	in       *bufio.Reader
	reader   *http2.Framer
	headers  *hpack.Decoder
	status   string // of the call whose trailers were read last, with its message
	streamed bool   // all calls go on one stream

	calls    map[uint32]*call // by HTTP/2 stream
	byMatch  map[string]*call // where they are streamed
	partial  []byte           // of an answer on that stream
	received int              // bytes of messages whose room was not given back

	mu     sync.Mutex // of what follows
	out    *bufio.Writer
	writer *http2.Framer
	first  []byte // header block of the first call
	again  []byte // of each further one: the server knows the fields by then
	stream uint32 // the last that was opened
	window int    // bytes of messages that the server takes
	broken error  // why a table could not go on

	until     time.Time
	playing   int // tables that go on
	latencies []time.Duration
}

// call is one move on its way.
type call struct {
	table  table
	answer []byte
	start  time.Time
}

// table is a match and who plays it.
type table interface {
	// match is the id of the match that is played.
	match() string
	// request appends the next move, a PlayActionRequest.
	request(b []byte) ([]byte, error)
	// take reads the answer to it, a Change. It returns false where the table has to
	// begin a game before it goes on.
	take(change []byte) (goesOn bool, err error)
	begin(ctx context.Context) error
}

// receiveWindow is how much a server may send before room is given back.
const receiveWindow = 1 << 30

// newLine connects to a server. Fields are those of the headers of each call.
func newLine(ctx context.Context, address string, streamed bool, fields ...hpack.HeaderField) (*line, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l := &line{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), out: bufio.NewWriterSize(conn, 64<<10), streamed: streamed,
		calls: map[uint32]*call{}, byMatch: map[string]*call{}, window: 65_535}
	l.reader, l.writer = http2.NewFramer(nil, l.in), http2.NewFramer(l.out, nil)
	l.reader.SetReuseFrames()
	l.headers = hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == "grpc-status" && f.Value != "0" || f.Name == "grpc-message" && f.Value != "" {
			l.status += f.Value + " "
		}
	})
	method := refereev1.MatchService_PlayAction_FullMethodName
	if streamed {
		method = refereev1.MatchService_PlayActions_FullMethodName
	}
	fields = append([]hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"},
		{Name: ":path", Value: method}, {Name: ":authority", Value: address},
		{Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"}}, fields...)
	l.first, l.again = headerBlocks(fields)
	_, _ = l.out.WriteString(http2.ClientPreface) // its error is kept until Flush
	return l, errors.Join(
		l.writer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: receiveWindow}),
		l.writer.WriteWindowUpdate(0, receiveWindow))
}

// headerBlocks encodes fields for a first call, which tells them, and for each that
// follows it.
func headerBlocks(fields []hpack.HeaderField) (first, again []byte) {
	var b bytes.Buffer
	encoder := hpack.NewEncoder(&b)
	for _, block := range []*[]byte{&first, &again} {
		b.Reset()
		for _, field := range fields {
			_ = encoder.WriteField(field) // a buffer takes all
		}
		*block = bytes.Clone(b.Bytes())
	}
	return first, again
}

// play has the tables play one move after the other until an instant, and returns
// when each has the answer to its last one and a game to go on with.
func (l *line) play(ctx context.Context, tables []table, until time.Time) error {
	l.until, l.playing = until, len(tables)
	for _, t := range tables {
		if err := l.send(&call{table: t}); err != nil {
			return err
		}
	}
	for l.playing > 0 {
		if l.in.Buffered() == 0 {
			if err := l.flush(); err != nil {
				return err
			}
		}
		frame, err := l.reader.ReadFrame()
		if err == nil {
			err = l.handle(ctx, frame)
		}
		if err != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			return errors.Join(l.broken, err)
		}
	}
	return nil
}

func (l *line) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Flush()
}

// send sends a table's next move. It goes out with the next flush.
func (l *line) send(c *call) (err error) {
	var room [512]byte
	message, err := c.table.request(append(room[:0], 0, 0, 0, 0, 0))
	if err != nil {
		return err
	}
	if l.streamed { // as the one field of a PlayActionsRequest
		length := binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(message)-5))
		message = append(message[:5], append(length, message[5:]...)...)
	}
	binary.BigEndian.PutUint32(message[1:], uint32(len(message)-5))
	c.start, c.answer = time.Now(), c.answer[:0]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.window -= len(message); l.window < 0 {
		return errors.New("the server takes no more requests: there are too many matches for so few connections")
	}
	if opens := !l.streamed || l.stream == 0; opens {
		if err := l.open(); err != nil {
			return err
		}
	}
	if l.streamed {
		l.byMatch[c.table.match()] = c
	} else {
		l.calls[l.stream] = c
	}
	return l.writer.WriteData(l.stream, !l.streamed, message)
}

// open begins the next HTTP/2 stream; the lock is held.
func (l *line) open() error {
	block := l.again
	if l.stream++; l.stream == 1 {
		block = l.first
	} else {
		l.stream++
	}
	return l.writer.WriteHeaders(http2.HeadersFrameParam{StreamID: l.stream, BlockFragment: block, EndHeaders: true})
}

func (l *line) handle(ctx context.Context, frame http2.Frame) error {
	switch f := frame.(type) {
	case *http2.DataFrame:
		return l.data(ctx, f)
	case *http2.HeadersFrame:
		return l.headersOf(ctx, f)
	case *http2.WindowUpdateFrame:
		l.mu.Lock()
		defer l.mu.Unlock()
		if f.StreamID == 0 {
			l.window += int(f.Increment)
		}
	case *http2.SettingsFrame:
		l.mu.Lock()
		defer l.mu.Unlock()
		if !f.IsAck() {
			return l.writer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		l.mu.Lock()
		defer l.mu.Unlock()
		if !f.IsAck() {
			return errors.Join(l.writer.WritePing(true, f.Data), l.out.Flush())
		}
	default:
		return fmt.Errorf("the server sent %v", frame.Header())
	}
	return nil
}

func (l *line) data(ctx context.Context, f *http2.DataFrame) error {
	if l.received += int(f.Length); l.received >= receiveWindow/2 {
		l.mu.Lock()
		err := l.writer.WriteWindowUpdate(0, uint32(l.received))
		if l.streamed {
			err = errors.Join(err, l.writer.WriteWindowUpdate(f.StreamID, uint32(l.received)))
		}
		l.mu.Unlock()
		if l.received = 0; err != nil {
			return err
		}
	}
	if l.streamed {
		return l.streamedData(ctx, f.Data())
	}
	c := l.called(f.StreamID)
	if c == nil {
		return fmt.Errorf("an answer on the unknown stream %d", f.StreamID)
	}
	c.answer = append(c.answer, f.Data()...)
	return nil
}

func (l *line) called(stream uint32) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[stream]
}

// headersOf reads headers and trailers. A unary call is over with its trailers.
func (l *line) headersOf(ctx context.Context, f *http2.HeadersFrame) error {
	if !f.HeadersEnded() {
		return errors.New("the server sent headers in parts")
	}
	l.headers.SetEmitEnabled(f.StreamEnded())
	l.status = ""
	if _, err := l.headers.Write(f.HeaderBlockFragment()); err != nil {
		return err
	}
	if !f.StreamEnded() {
		return nil
	}
	if l.status != "" || l.streamed {
		return fmt.Errorf("a call ended with status %q", l.status)
	}
	l.mu.Lock()
	c := l.calls[f.StreamID]
	delete(l.calls, f.StreamID)
	l.mu.Unlock()
	if c == nil || len(c.answer) < 5 {
		return errors.New("a call ended without an answer")
	}
	change, _ := field(c.answer[5:], 1)
	return l.answered(ctx, c, change)
}

// streamedData reads the messages of a stream, which frames may cut anywhere.
func (l *line) streamedData(ctx context.Context, b []byte) error {
	if len(l.partial) > 0 {
		l.partial = append(l.partial, b...)
		b = l.partial
	}
	for len(b) >= 5 {
		end := 5 + int(binary.BigEndian.Uint32(b[1:]))
		if len(b) < end {
			break
		}
		message := b[5:end]
		b = b[end:]
		match, _ := field(message, 2)
		change, _ := field(message, 3)
		if change == nil {
			return fmt.Errorf("refused: %q", message)
		}
		l.mu.Lock()
		c := l.byMatch[string(match)]
		l.mu.Unlock()
		if c == nil {
			return fmt.Errorf("an answer of the unknown match %s", strconv.Quote(string(match)))
		}
		if err := l.answered(ctx, c, change); err != nil {
			return err
		}
	}
	l.partial = append(l.partial[:0], b...)
	return nil
}

// answered counts a move and has its table play the next one.
func (l *line) answered(ctx context.Context, c *call, change []byte) error {
	now := time.Now()
	l.latencies = append(l.latencies, now.Sub(c.start))
	goesOn, err := c.table.take(change)
	switch {
	case err != nil:
		return err
	case goesOn && now.After(l.until):
		l.playing--
		return nil
	case goesOn:
		return l.send(c)
	}
	go func() { // the others do not wait for it
		err := c.table.begin(ctx)
		if err == nil {
			err = l.send(c)
		}
		if err == nil {
			err = l.flush()
		}
		if err != nil {
			l.fail(err)
		}
	}()
	return nil
}

// fail ends the play.
func (l *line) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = errors.Join(l.broken, err)
	_ = l.conn.Close()
}
