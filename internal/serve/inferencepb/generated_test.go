package inferencepb_test

import (
	"flag"
	"os"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

var update = flag.Bool("update", false, "write inference.pb.go")

// The generated file is that of inference.proto.
func TestGenerated(t *testing.T) {
	const proto, generated = "inference.proto", "inference.pb.go"
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{},
		SourceInfoMode: protocompile.SourceInfoStandard}
	compiled, err := compiler.Compile(t.Context(), proto)
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{FileToGenerate: []string{proto},
		ProtoFile: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(compiled[0])}})
	if err != nil {
		t.Fatal(err)
	}
	internal_gengo.GenerateFile(plugin, plugin.FilesByPath[proto])
	response := plugin.Response()
	if response.Error != nil || len(response.GetFile()) != 1 {
		t.Fatalf("protoc-gen-go made %d files: %s", len(response.GetFile()), response.GetError())
	}
	want := response.GetFile()[0].GetContent()
	if *update {
		if err := os.WriteFile(generated, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(generated)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is stale; run go generate (-want +got):\n%s", generated, diff)
	}
}
