package batchfile

import (
	"encoding/csv"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"time"

	"rivulet/dataset/parquet"
	"rivulet/event"
	"rivulet/event/json"
)

// Writer writes predictions.
type Writer interface {
	Prediction(p *event.Prediction) error
	// Close ends the file's format. The underlying writer stays open.
	Close() error
}

// NewWriter returns a writer of a table; lines are internal/app's.
func NewWriter(w io.Writer, form Form) (Writer, error) {
	switch form {
	case CSV:
		c := &csvWriter{w: csv.NewWriter(w)}
		var names []string
		for i := range reflect.TypeFor[row]().NumField() {
			names = append(names, reflect.TypeFor[row]().Field(i).Tag.Get("column"))
		}
		return c, c.w.Write(names)
	case Parquet:
		return &parquetWriter{parquet.NewWriter[row](w)}, nil
	}
	return nil, fmt.Errorf("%s is no form of tables", form)
}

// row is a prediction in a table. What has a list of records in JSON is JSON text here.
type row struct {
	ID             string    `column:"id" parquet:"id"`
	Class          int32     `column:"class" parquet:"class"`
	ClassName      string    `column:"class_name" parquet:"class_name"`
	Probability    float32   `column:"probability" parquet:"probability"`
	Abstained      bool      `column:"abstained" parquet:"abstained"`
	Degraded       bool      `column:"degraded" parquet:"degraded"`
	Probabilities  []float32 `column:"probabilities" parquet:"probabilities,list"`
	Logits         []float32 `column:"logits" parquet:"logits,list"`
	Representation []float32 `column:"representation" parquet:"representation,list"`
	Top            string    `column:"top" parquet:"top"`
	Numbers        string    `column:"numbers" parquet:"numbers"`
	Links          string    `column:"links" parquet:"links"`
	Explanation    string    `column:"explanation" parquet:"explanation"`
	Known          int32     `column:"known_neighbours" parquet:"known_neighbours"`
	Arrivals       int32     `column:"arrival_neighbours" parquet:"arrival_neighbours"`
	InBatch        int32     `column:"batch_neighbours" parquet:"batch_neighbours"`
	Unknown        int32     `column:"unknown_neighbours" parquet:"unknown_neighbours"`
	Artifact       string    `column:"artifact" parquet:"artifact"`
	Batch          string    `column:"batch" parquet:"batch"`
	Topic          string    `column:"topic" parquet:"topic"`
	Partition      int32     `column:"partition" parquet:"partition"`
	Offset         int64     `column:"offset" parquet:"offset"`
	ArrivalTime    string    `column:"arrival_time" parquet:"arrival_time"`
	IngestTime     string    `column:"ingest_time" parquet:"ingest_time"`
	PredictedTime  string    `column:"predicted_time" parquet:"predicted_time"`
}

// rowOf makes the row of a prediction. Its lists share the prediction's memory.
func rowOf(p *event.Prediction) (r row, err error) {
	r = row{ID: p.ID, Class: int32(p.Class), ClassName: p.ClassName, Probability: p.Probability, Abstained: p.Abstained,
		Degraded: p.Degraded, Probabilities: p.Probabilities, Logits: p.Logits, Representation: p.Representation,
		Known: int32(p.Known), Arrivals: int32(p.Arrivals), InBatch: int32(p.InBatch), Unknown: int32(p.Unknown),
		Artifact: p.Artifact, Batch: p.Batch, Topic: p.Source.Topic, Partition: int32(p.Source.Partition),
		Offset: p.Source.Offset, ArrivalTime: timeText(p.ArrivalTime), IngestTime: timeText(p.IngestTime),
		PredictedTime: timeText(p.PredictedTime)}
	if len(p.Top)+len(p.Numbers)+len(p.Links) == 0 && p.Explanation == nil {
		return r, nil
	}
	// The texts are those of the prediction's own JSON.
	text, err := (json.Codec{}).AppendPrediction(nil, p)
	var members struct{ Top, Numbers, Links, Explanation stdjson.RawMessage }
	if err == nil {
		err = stdjson.Unmarshal(text, &members)
	}
	r.Top, r.Numbers = string(members.Top), string(members.Numbers)
	r.Links, r.Explanation = string(members.Links), string(members.Explanation)
	return r, err
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// csvWriter writes a row a line, below the names of the columns. A list is JSON text.
type csvWriter struct{ w *csv.Writer }

func (c *csvWriter) Prediction(p *event.Prediction) error {
	r, err := rowOf(p)
	if err != nil {
		return err
	}
	v := reflect.ValueOf(r)
	cells := make([]string, v.NumField())
	for i := range cells {
		switch x := v.Field(i).Interface().(type) {
		case string:
			cells[i] = x
		case float32:
			cells[i] = strconv.FormatFloat(float64(x), 'g', -1, 32)
		case []float32:
			if x != nil {
				text, err := stdjson.Marshal(x)
				if err != nil {
					return err
				}
				cells[i] = string(text)
			}
		default:
			cells[i] = fmt.Sprint(x)
		}
	}
	return c.w.Write(cells)
}

func (c *csvWriter) Close() error {
	c.w.Flush()
	return c.w.Error()
}

// parquetWriter writes a file whose end has the index of its rows: it can be read once it is closed.
type parquetWriter struct{ w *parquet.Writer[row] }

func (q *parquetWriter) Prediction(p *event.Prediction) error {
	r, err := rowOf(p)
	return errors.Join(err, q.w.Write(r))
}

func (q *parquetWriter) Close() error { return q.w.Close() }
