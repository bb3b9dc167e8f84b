package app

import (
	"log/slog"
	"os"
	"regexp"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// exampleCall finds the README's call and, in the block after it, its answer.
var exampleCall = regexp.MustCompile("(?s)```sh\n[^`]*-d '([^']+)'[^`]*?(referee\\.v1\\.\\w+)/(\\w+)\n```\n+```json\n([^`]+)```")

// TestReadmeExample makes the README's calls and compares the answers.
func TestReadmeExample(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := exampleCall.FindAllStringSubmatch(string(readme), -1)
	if len(found) == 0 {
		t.Fatal("the README has no example call with its answer")
	}
	tt := newTable(t)
	a := tt.start(t, slog.New(slog.DiscardHandler))
	defer a.Stop()
	conn := dial(t, a)
	for _, example := range found {
		body, service, method, answer := example[1], example[2], example[3], example[4]
		t.Run(method, func(t *testing.T) {
			descriptor := methodOf(t, service, method)
			request, want, got := dynamicpb.NewMessage(descriptor.Input()), dynamicpb.NewMessage(descriptor.Output()), dynamicpb.NewMessage(descriptor.Output())
			err := protojson.Unmarshal([]byte(body), request)
			if err != nil {
				t.Fatal(err)
			}
			err = protojson.Unmarshal([]byte(answer), want)
			if err != nil {
				t.Fatal(err)
			}
			err = conn.Invoke(tt.context(t), "/"+service+"/"+method, request, got)
			if err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(got, want) {
				t.Errorf("got %s, the README says %s", protojson.Format(got), protojson.Format(want))
			}
		})
	}
}

func methodOf(t *testing.T, service, method string) protoreflect.MethodDescriptor {
	t.Helper()
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		t.Fatal(err)
	}
	descriptor := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method))
	if descriptor == nil {
		t.Fatalf("%s has no method %s", service, method)
	}
	return descriptor
}
