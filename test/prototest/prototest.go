// Package prototest compares the generated code of Protobuf files with what protoc-gen-go makes of them now.
package prototest

import (
	"flag"
	"os"
	"path"
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

// Generated fails where a .pb.go file of the working directory is not what its .proto file says now. The .proto files
// are named from a root. With -update it writes the files.
func Generated(t *testing.T, root string, sources ...string) {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}}),
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
		t.Fatalf("protoc-gen-go made %d files of %d: %s", len(response.GetFile()), len(sources), response.GetError())
	}
	for _, file := range response.GetFile() {
		name := path.Base(file.GetName())
		if *update {
			expect.OK(t, os.WriteFile(name, []byte(file.GetContent()), 0o644))
		}
		got, err := os.ReadFile(name)
		expect.OK(t, err)
		expect.Same(t, file.GetContent(), string(got), "%s is stale; run go generate", name)
	}
}
