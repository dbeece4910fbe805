package report

import (
	"fmt"
	"strings"
)

// Stream has the figures of nodes that were judged in the order of their arrival, one value for each chunk.
type Stream struct {
	Of    string // such as "seed 0, order of time"
	Lines []StreamLine
	// Refreshed are the chunks, from 1, before which S was trained anew by alarm.
	Refreshed []int
}

// StreamLine is a column of the table: accuracy and the share of known edges, in percent, by chunk.
type StreamLine struct {
	Name            string
	Accuracy, Known []float64
	Mean            float64 // accuracy of all arrivals
}

// stream shows accuracy and known edges along streams.
func (p *Page) stream() section {
	s := section{ID: "stream", Title: "In the order of arrival"}
	s.Text = []string{"Nodes arrive one after another, are predicted and get their labels later. T is the original " +
		"graph, S the synthetic graph; never: as at the start; grown: arrivals get rows of M; " +
		"each chunk and by alarm: trained anew on all nodes that came."}
	for k, one := range p.Streams {
		accuracy := one.chart(fmt.Sprintf("stream-%d", k), "Accuracy along the stream", "accuracy (%)",
			func(l *StreamLine) []float64 { return l.Accuracy })
		known := one.chart(fmt.Sprintf("stream-known-%d", k), "Known edges along the stream", "edges to known nodes (%)",
			func(l *StreamLine) []float64 { return l.Known })
		g := group{Title: one.Of, Figures: []figure{accuracy.figure(), known.figure()}}
		g.Figures[0].Caption = joinText(one.Of, "S by alarm was trained anew before chunks "+
			strings.Trim(fmt.Sprint(one.Refreshed), "[]"))
		t := &table{Caption: accuracy.title + ", " + one.Of, Head: []string{"column"}, Texts: 1}
		for i := range one.Lines {
			l := &one.Lines[i]
			row := []string{l.Name}
			for c, v := range l.Accuracy {
				if i == 0 {
					t.Head = append(t.Head, fmt.Sprint(c+1))
				}
				row = append(row, fixed(v, 1))
			}
			t.Rows = append(t.Rows, append(row, fixed(l.Mean, 1)))
		}
		t.Head = append(t.Head, "all")
		s.Groups, s.Tables = append(s.Groups, g), append(s.Tables, t)
	}
	return s
}

// chart draws one figure of the lines by chunk.
func (s *Stream) chart(id, title, label string, of func(*StreamLine) []float64) *chart {
	c := &chart{id: id, title: title, x: axis{label: "chunk"}, y: axis{label: label},
		description: fmt.Sprintf("%s by chunk, %d lines. The numbers are in the table below.", title, len(s.Lines))}
	for k := range s.Lines {
		line := curve{name: s.Lines[k].Name, y: exact(of(&s.Lines[k])), slot: k}
		for i := range line.y {
			line.x = append(line.x, float64(i+1))
		}
		c.curves = append(c.curves, line)
	}
	return c
}
