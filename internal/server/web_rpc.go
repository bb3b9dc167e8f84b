package server

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"
	"connectrpc.com/vanguard/vanguardgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"referee.example/internal/referee"
)

// maxFaultBytes is how much is told of what is wrong with a JSON message.
const maxFaultBytes = 200

// rpcHeaders are those of a request that reach the call; what else a browser or a
// proxy sends is not for it.
var rpcHeaders = []string{"Authorization", "Connect-Timeout-Ms", "X-Request-Id"}

// rpcHandler answers the unary RPCs in the form of the Connect protocol: a POST of
// one JSON message to /package.Service/Method.
type rpcHandler struct {
	next   http.Handler
	errors *connect.ErrorWriter
	unary  map[string]bool // paths
}

func newRPCHandler(g *grpc.Server) *rpcHandler {
	transcoder, err := vanguardgrpc.NewTranscoder(g,
		vanguard.WithDefaultServiceOptions(
			vanguard.WithNoTargetCompression(),
			vanguard.WithMaxMessageBufferBytes(maxResponseBytes),
		),
		vanguard.WithCodec(func(types vanguard.TypeResolver) vanguard.Codec { return newJSONCodec(types) }))
	if err != nil {
		panic(err) // the contract is compiled in, and the options are these
	}
	h := &rpcHandler{next: transcoder, errors: connect.NewErrorWriter(), unary: map[string]bool{}}
	for service, info := range g.GetServiceInfo() {
		for _, method := range info.Methods {
			h.unary["/"+service+"/"+method.Name] = !method.IsClientStream && !method.IsServerStream
		}
	}
	return h
}

// ServeHTTP answers one call. What can't be one is refused in the same form.
func (h *rpcHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := http.Header{"Connect-Protocol-Version": {"1"}}
	for _, name := range rpcHeaders {
		if values := r.Header[name]; len(values) > 0 {
			header[name] = values
		}
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "an RPC is a POST", http.StatusMethodNotAllowed)
		return
	}
	if !plainJSON(r.Header) {
		w.Header().Set("Accept-Post", "application/json")
		http.Error(w, "the message must be application/json in UTF-8, not compressed", http.StatusUnsupportedMediaType)
		return
	}
	header.Set("Content-Type", "application/json") // the transcoder knows no other spelling
	if text := r.Header.Get("Connect-Timeout-Ms"); text != "" && !isTimeout(text) {
		h.refuse(w, r, refusalStatus(referee.InvalidField("Connect-Timeout-Ms", "must have from 1 to %d digits", maxTimeoutDigits)))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequestBytes))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		h.refuse(w, r, refusalStatus(referee.InvalidField("message", "must not have more than %d bytes", MaxRequestBytes)))
		return
	case err != nil:
		return // the client is gone, or too slow
	}
	if unary, known := h.unary[r.URL.Path]; !unary {
		wrong := "there is no such method"
		if known {
			wrong = "the method is a stream: it needs the gRPC port"
		}
		_ = h.errors.Write(w, r, connect.NewError(connect.CodeUnimplemented, errors.New(wrong)))
		return
	}
	if len(body) == 0 {
		body = []byte(" ") // no more JSON than nothing is, but the transcoder takes it for a message
	}
	call := r.Clone(r.Context())
	call.Header, call.Body, call.ContentLength, call.TransferEncoding = header, io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	h.next.ServeHTTP(w, call)
}

// plainJSON reports whether a message is JSON as it stands, however a client spells
// that: with its charset, which can only be UTF-8, and without a compression.
func plainJSON(header http.Header) bool {
	media, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	charset, encoding := parameters["charset"], header.Get("Content-Encoding")
	return err == nil && media == "application/json" &&
		(charset == "" || strings.EqualFold(charset, "utf-8")) && (encoding == "" || strings.EqualFold(encoding, "identity"))
}

// maxTimeoutDigits is what the Connect protocol allows.
const maxTimeoutDigits = 10

func isTimeout(text string) bool {
	return len(text) <= maxTimeoutDigits && strings.Trim(text, "0123456789") == ""
}

// refuse answers with a status.
func (h *rpcHandler) refuse(w http.ResponseWriter, r *http.Request, st *status.Status) {
	refusal := connect.NewError(connect.Code(st.Code()), errors.New(st.Message()))
	for _, detail := range st.Details() {
		if message, ok := detail.(proto.Message); ok {
			if packed, err := connect.NewErrorDetail(message); err == nil {
				refusal.AddDetail(packed)
			}
		}
	}
	_ = h.errors.Write(w, r, refusal) // fails only when the client is gone
}

// jsonCodec reads and writes messages as JSON. A name that the contract doesn't
// have is refused, since it may be a mistyped one that mattered. As with codec,
// what is malformed is marked, and refused after the token was looked at.
type jsonCodec struct{ vanguard.JSONCodec }

func newJSONCodec(types vanguard.TypeResolver) jsonCodec {
	return jsonCodec{vanguard.JSONCodec{
		MarshalOptions:   protojson.MarshalOptions{Resolver: types},
		UnmarshalOptions: protojson.UnmarshalOptions{Resolver: types},
	}}
}

// Unmarshal reads a message.
func (c jsonCodec) Unmarshal(data []byte, message proto.Message) error {
	if err := c.JSONCodec.Unmarshal(data, message); err != nil {
		markMalformed(message, faultOf(err))
	}
	return nil
}

// faultOf is protojson's word on what is wrong, without the beginning that it
// varies on purpose. It quotes the caller's own text only.
func faultOf(err error) string {
	text := strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
	return strings.ToValidUTF8(text[:min(len(text), maxFaultBytes)], "")
}
