package eventpb

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/pluginpb"

	"rivulet/test/expect"
)

var update = flag.Bool("update", false, "write the generated files anew")

// sources are the .proto files, named from the root of the repository: a program that links these types knows them by
// these names, which must differ from those of every other .proto file that it links.
var sources = []string{"event/schema/arrival.proto", "event/schema/prediction.proto", "event/schema/label.proto",
	"event/schema/edge.proto"}

// The .pb.go files are what the .proto files say now.
func TestGenerated(t *testing.T) {
	for name, want := range generate(t) {
		if *update {
			expect.OK(t, os.WriteFile(name, []byte(want), 0o644))
		}
		got, err := os.ReadFile(name)
		expect.OK(t, err)
		expect.Same(t, want, string(got), "%s is stale; run go generate ./test/eventpb", name)
	}
}

// generate returns the generated files by their names in this directory.
func generate(t *testing.T) map[string]string {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{"../.."}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // the comments
	}
	compiled, err := compiler.Compile(t.Context(), sources...)
	expect.OK(t, err)
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: sources,
		ProtoFile: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(
			timestamppb.File_google_protobuf_timestamp_proto)}}
	for _, file := range compiled {
		request.ProtoFile = append(request.ProtoFile, protodesc.ToFileDescriptorProto(file))
	}
	plugin, err := protogen.Options{}.New(request)
	expect.OK(t, err)
	for _, file := range plugin.Files {
		if file.Generate {
			internal_gengo.GenerateFile(plugin, file)
		}
	}
	response := plugin.Response()
	if response.Error != nil || len(response.GetFile()) != len(sources) {
		t.Fatalf("protoc-gen-go made %d files: %s", len(response.GetFile()), response.GetError())
	}
	files := make(map[string]string)
	for _, file := range response.GetFile() {
		files[filepath.Base(file.GetName())] = file.GetContent()
	}
	return files
}
