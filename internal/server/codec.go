package server

import (
	"bytes"
	"slices"

	"referee.example/internal/referee"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that is wrapped
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// codec reads messages as gRPC's own does, but a malformed one becomes an empty
// message with a mark. gRPC would answer it by itself, as an internal error and
// before any interceptor; so it is refused with a reason, as everything else.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// malformedTag begins an unknown field, of the highest number there is, that marks
// what was not a message. It holds what is wrong, where that is known.
var malformedTag = protowire.AppendTag(nil, protowire.MaxValidNumber, protowire.BytesType)

// markMalformed empties a message and marks it.
func markMalformed(message proto.Message, wrong string) {
	proto.Reset(message)
	message.ProtoReflect().SetUnknown(protowire.AppendString(slices.Clone(malformedTag), wrong))
}

// Unmarshal reads a message.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	err := c.CodecV2.Unmarshal(data, v)
	message, ok := v.(proto.Message)
	if err == nil || !ok {
		return err
	}
	markMalformed(message, "")
	return nil
}

// wellFormed refuses a message that was marked.
func wellFormed(v any) error {
	message, ok := v.(proto.Message)
	if !ok {
		return nil
	}
	content, marked := bytes.CutPrefix(message.ProtoReflect().GetUnknown(), malformedTag)
	wrong, length := protowire.ConsumeString(content)
	switch {
	case !marked || length != len(content):
		return nil
	case wrong == "":
		return referee.InvalidField("message", "must be a message of the contract, its text in UTF-8")
	}
	return referee.InvalidField("message", "must be JSON of the contract: %s", wrong)
}
