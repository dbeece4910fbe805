package connectpb_test

import (
	"flag"
	"os"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	"rivulet/test/expect"
)

var update = flag.Bool("update", false, "write spark.pb.go")

// The generated file is that of spark.proto.
func TestGenerated(t *testing.T) {
	const proto, generated = "spark.proto", "spark.pb.go"
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{},
		SourceInfoMode: protocompile.SourceInfoStandard}
	compiled, err := compiler.Compile(t.Context(), proto)
	expect.OK(t, err)
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{FileToGenerate: []string{proto},
		ProtoFile: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(compiled[0])}})
	expect.OK(t, err)
	internal_gengo.GenerateFile(plugin, plugin.FilesByPath[proto])
	response := plugin.Response()
	if response.Error != nil || len(response.GetFile()) != 1 {
		t.Fatalf("protoc-gen-go made %d files: %s", len(response.GetFile()), response.GetError())
	}
	want := response.GetFile()[0].GetContent()
	if *update {
		expect.OK(t, os.WriteFile(generated, []byte(want), 0o644))
	}
	got, err := os.ReadFile(generated)
	expect.OK(t, err)
	expect.Same(t, want, string(got), "%s is stale; run go generate", generated)
}
