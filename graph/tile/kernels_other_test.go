//go:build (!amd64 && !arm64) || purego

package tile

// kernels are those that this build has.
func kernels() []kernel { return []kernel{plain} }
