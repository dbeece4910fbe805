package run

import (
	"context"
	"fmt"
	"io"

	"rivulet/consumer"
	"rivulet/kafka"
)

// ExplanationWriter takes explanations one by one. It may use an explanation only until it returns.
type ExplanationWriter interface {
	Explanation(e *consumer.ExplainedArrival) error
}

// ExplainLines reads arrivals as [PredictLines] does and explains the prediction of each, in order. It returns how
// many lines were explained and how many were rejected. Output and Rejected of the options are read as there.
func ExplainLines(ctx context.Context, versions consumer.Versions, r io.Reader, w ExplanationWriter,
	o LineOptions) (explained, rejected int, err error) {
	pipeline, err := consumer.NewPipeline(consumer.PipelineOptions{Versions: versions, Deliverer: &fileDeliverer{},
		Mode:  o.Mode,
		Forms: o.Forms, Features: o.Features, IgnoreUnknown: o.IgnoreUnknown, Limits: o.Limits, Output: o.Output})
	if err != nil {
		return 0, 0, err
	}
	err = eachBatch(ctx, r, &o, func(name string, records []kafka.Record) error {
		all, dead, err := pipeline.Explain(ctx, consumer.Intake{Name: name, Records: records})
		if err != nil {
			return err
		}
		for i := range dead {
			rejected++
			if o.Rejected != nil {
				o.Rejected(dead[i].Source.Offset, &dead[i])
			}
		}
		for i := range all {
			if err := w.Explanation(&all[i]); err != nil {
				return fmt.Errorf("writing the explanation of %q: %w", all[i].Prediction.ID, err)
			}
			explained++
		}
		return nil
	})
	return explained, rejected, err
}
