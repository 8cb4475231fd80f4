package manifest

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"unicode/utf8"
)

// check reports why m is not a valid manifest.
func (m *Manifest) check() error {
	if m.Format != Format || m.Version != Version {
		return fmt.Errorf("%w: format %.40q, version %d", ErrMalformed, m.Format, m.Version)
	}
	if why := CheckName(m.Name); why != "" {
		return fmt.Errorf("%w: name %.80q: %s", ErrMalformed, m.Name, why)
	}
	if m.Of != "" && m.Of != "count" && m.Of != "last" {
		return fmt.Errorf("%w: of %.40q: it is count or last", ErrMalformed, m.Of)
	}
	if m.Bad < 0 {
		return fmt.Errorf("%w: %d bad records", ErrMalformed, m.Bad)
	}
	for _, in := range m.Inputs {
		if in.Files < 0 || in.Bytes < 0 {
			return fmt.Errorf("%w: input %.80q has a negative count", ErrMalformed, in.Path)
		}
	}
	for text := range m.texts() {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%w: %.80q is not UTF-8", ErrMalformed, text)
		}
	}
	return m.checkShards()
}

// texts yields every text of m that nothing else checks.
func (m *Manifest) texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		lists := [][]string{{m.Payload, m.Source}, m.Options, m.Classes, m.Notes}
		for _, in := range m.Inputs {
			lists = append(lists, []string{in.Path})
		}
		for _, c := range m.Columns {
			lists = append(lists, []string{c.Name, c.Type})
		}
		for _, list := range lists {
			for _, text := range list {
				if !yield(text) {
					return
				}
			}
		}
	}
}

func (m *Manifest) checkShards() error {
	if len(m.Shards) > MaxShards {
		return fmt.Errorf("%w: %d shards, more than %d", ErrMalformed, len(m.Shards), MaxShards)
	}
	sum := Manifest{}
	for i, s := range m.Shards {
		if err := s.check(m.Name); err != nil {
			return err
		}
		if i > 0 && s.Name <= m.Shards[i-1].Name {
			return fmt.Errorf("%w: shard %q follows %q", ErrMalformed, s.Name, m.Shards[i-1].Name)
		}
		if !sum.add(s) {
			return fmt.Errorf("%w: the shards have more than 2^63 bytes", ErrMalformed)
		}
	}
	if m.Records != sum.Records || m.RecordBytes != sum.RecordBytes || m.Bytes != sum.Bytes {
		return fmt.Errorf("%w: it states %d records in %d bytes, and %d in all; its shards have %d in %d, and %d",
			ErrMalformed, m.Records, m.RecordBytes, m.Bytes, sum.Records, sum.RecordBytes, sum.Bytes)
	}
	return nil
}

// add adds the counts of s; false if they are too large.
func (m *Manifest) add(s Shard) bool {
	if s.Records > math.MaxInt64-m.Records || s.RecordBytes > math.MaxInt64-m.RecordBytes || s.Bytes > math.MaxInt64-m.Bytes {
		return false
	}
	m.Records += s.Records
	m.RecordBytes += s.RecordBytes
	m.Bytes += s.Bytes
	return true
}

func (s Shard) check(dataset string) error {
	switch why := CheckName(s.Name); {
	case why != "":
		return fmt.Errorf("%w: shard %.80q: %s", ErrMalformed, s.Name, why)
	case !strings.HasPrefix(s.Name, dataset):
		return fmt.Errorf("%w: shard %.80q does not begin with %q", ErrMalformed, s.Name, dataset)
	case s.Records < 0 || s.RecordBytes < 0 || s.Bytes < 0:
		return fmt.Errorf("%w: shard %q has a negative count", ErrMalformed, s.Name)
	case !isDigest(s.Digest):
		return fmt.Errorf("%w: shard %q: %.80q is not a BLAKE3 digest", ErrMalformed, s.Name, s.Digest)
	}
	return nil
}

// isDigest reports whether d has the form of a BLAKE3 digest.
func isDigest(d string) bool {
	hex, ok := strings.CutPrefix(d, "blake3:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}
