package serving

// Option is a field of [Options] that some artifacts cannot serve, as they lack the data for it.
type Option string

// The options.
const (
	OptionModel          Option = "model"
	OptionAttachment     Option = "attachment"
	OptionCalibration    Option = "calibration"
	OptionRepresentation Option = "representation"
	OptionCoverage       Option = "coverage"
	OptionGrowth         Option = "growth"
	OptionExplain        Option = "explain"
	OptionTask           Option = "task"
)

// ChoiceError says that an artifact cannot be served as an option asks, though it could be served otherwise.
type ChoiceError struct {
	Option Option
	err    error
}

// Error names the artifact's choices, and the one that was asked for.
func (e *ChoiceError) Error() string { return e.err.Error() }

// Unwrap returns the reason.
func (e *ChoiceError) Unwrap() error { return e.err }

// because returns err as a [*ChoiceError], nil for nil.
func (o Option) because(err error) error {
	if err == nil {
		return nil
	}
	return &ChoiceError{o, err}
}
