package target

// Names of capabilities that some tasks have beside classes. Parts of the program that ask for one give its name to
// [Task.Require]; all other names are of capabilities for classes alone.
const (
	Abstention    = "abstention (--coverage)"
	Coverage      = "output.coverage"
	TopK          = "output.top_k"
	Probabilities = "output.probabilities"
	LabelsTopic   = "labels.topic"
	SendLabels    = "sending labels (--labels)"
)

// capabilities are the tasks beside classes that have a capability.
var capabilities = map[string][]Task{
	Abstention:    {Labels},
	Coverage:      {Labels},
	TopK:          {Labels, Links},
	Probabilities: {Labels},
	LabelsTopic:   {Labels},
	SendLabels:    {Labels, Number},

	"--top-k":         {Labels, Links},
	"--probabilities": {Labels},
}
