package spark

import (
	"context"
	"fmt"

	"rivulet/trainer/stage/spark/connect"
)

// server is a [Runner]: a session in a Spark Connect server.
type server struct {
	session *connect.Session
	sent    map[string]bool
	began   bool
}

// Connect returns a Runner that uses a session in a Spark Connect server.
func Connect(s *connect.Session) Runner { return &server{session: s, sent: map[string]bool{}} }

// Saves implements [Runner].
func (s *server) Saves() bool { return false }

// Send implements [Runner].
func (s *server) Send(ctx context.Context, files ...File) error {
	for _, f := range files {
		if s.sent[f.Name] {
			continue
		}
		if err := s.session.AddFile(ctx, f.Name, f.Content); err != nil {
			return err
		}
		s.sent[f.Name] = true
		s.began = true
	}
	return nil
}

// Run implements [Runner].
func (s *server) Run(ctx context.Context, statements []string, query string, r Reporter) error {
	s.began = true
	progress := func(done, total, _ int64) { r.Tasks(int(done), int(total)) }
	for _, statement := range statements {
		if err := s.session.Exec(ctx, statement, progress); err != nil {
			return err
		}
	}
	if query == "" {
		return nil
	}
	return s.session.Query(ctx, query, progress, r.Strings)
}

// Close implements [Runner].
func (s *server) Close(ctx context.Context) error {
	if !s.began {
		return nil
	}
	if err := s.session.Close(ctx); err != nil {
		return fmt.Errorf("ending the session: %w", err)
	}
	return nil
}
