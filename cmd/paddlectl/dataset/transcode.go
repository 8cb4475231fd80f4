package dataset

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/payload"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// transcoder turns the payloads of records into another encoding.
type transcoder struct {
	from string // encoding of the records; "": that of the first one
	to   string // name of one of convert.Encodings, or of convert.Shown
	// note is called with what the new encoding does not show; it may be nil.
	note func(convert.Note)
}

// checkPayload checks the value of --payload of commands that read records.
func checkPayload(name string) error {
	if name == "" {
		return nil
	}
	return app.OneOf("payload", name, payload.Msgpack, payload.Pickle, payload.JSON, payload.Raw)
}

// dataRecord is a record and what messages call it.
type dataRecord struct {
	name func() string
	data []byte
}

// run gives the payload of each record in its new encoding to emit, in order; it is
// valid during the call. A record is looked at only until the next one is asked for.
func (t transcoder) run(ctx context.Context, records iter.Seq2[dataRecord, error], emit func([]byte) error) error {
	next, stop := iter.Pull2(records)
	defer stop()
	first, err, ok := next()
	if !ok || err != nil {
		return err
	}
	if t.from == "" {
		t.from = payload.Guess(first.data)
	}
	all := func(yield func(dataRecord, error) bool) {
		for rec, err, ok := first, err, ok; ok; rec, err, ok = next() {
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
	if t.from == payload.Pickle || t.from == payload.JSON {
		return t.foreign(ctx, all, emit)
	}
	return t.own(ctx, all, emit)
}

// own walks payloads that package payload reads.
func (t transcoder) own(ctx context.Context, records iter.Seq2[dataRecord, error], emit func([]byte) error) error {
	enc := t.encoder()
	if t.note != nil {
		losses := convert.Losses(enc)
		defer func() {
			for _, text := range losses() {
				t.note(convert.Note{Text: text})
			}
		}()
	}
	var buf []byte
	for rec, err := range records {
		if err == nil {
			err = pfs.CheckContext(ctx, "paddlectl.transcode", "")
		}
		if err != nil {
			return err
		}
		enc.Reset()
		if t.from == payload.Raw {
			walkRaw(rec.data, enc, t.to == payload.JSON || t.to == convert.Shown.Name)
		} else if err := payload.Walk(rec.data, enc, convert.DefaultMaxDepth); err != nil {
			return badPayload(rec.name(), err)
		}
		if err := enc.Err(); err != nil {
			return badPayload(rec.name(), err)
		}
		buf = enc.Append(buf[:0])
		if err := emit(buf); err != nil {
			return err
		}
	}
	return nil
}

// badPayload is the error for a record that is not of the encoding.
func badPayload(record string, err error) error {
	return datafile.DataError(fmt.Errorf("%s: %w", record, err), pfs.Integrity)
}

// walkRaw gives bytes as they stand: as text if they are. JSON, whose base64 is text
// too, has what is no text as the one value of an object, which no record of bytes is.
func walkRaw(data []byte, enc convert.Encoder, json bool) {
	switch {
	case utf8.Valid(data):
		enc.String(data)
	case json:
		enc.Map(1)
		enc.Key("base64")
		enc.Bytes(data)
		enc.End()
	default:
		enc.Bytes(data)
	}
}

// encoder returns an encoder of t.to.
func (t transcoder) encoder() convert.Encoder {
	if t.to == convert.Shown.Name {
		return convert.Shown.New(t.limits())
	}
	i := slices.IndexFunc(convert.Encodings, func(e convert.Encoding) bool { return e.Name == t.to })
	return convert.Encodings[i].New(t.limits())
}

// limits are as wide as they can be: the records have been read already.
func (t transcoder) limits() convert.Limits {
	return convert.Limits{Record: math.MaxInt32, Depth: convert.DefaultMaxDepth}
}

// foreign reads payloads as package convert reads files: each is one input.
func (t transcoder) foreign(ctx context.Context, records iter.Seq2[dataRecord, error], emit func([]byte) error) error {
	opts := convert.Options{Format: "jsonl", Encoding: t.to, Limits: t.limits()}
	wrap := bytes.Clone
	if t.from == payload.Pickle {
		opts.Format, wrap = "pickle", asListOfOne
	}
	sources := func(yield func(convert.Source, error) bool) {
		for rec, err := range records {
			if err != nil {
				yield(convert.Source{}, err)
				return
			}
			data := wrap(rec.data)
			s := convert.Source{Name: rec.name(), Open: func(context.Context) (convert.Content, error) {
				return convert.Content{Reader: bytes.NewReader(data), Size: int64(len(data))}, nil
			}}
			if !yield(s, nil) {
				return
			}
		}
	}
	stats, err := convert.Run(ctx, sources, opts, emit)
	for _, n := range stats.Notes {
		if t.note != nil {
			t.note(n)
		}
	}
	return datafile.ConvertError(err)
}

// asListOfOne makes of a pickle that of the list which has its value as its only
// item, so that a tuple is one sample and not several.
func asListOfOne(pickle []byte) []byte {
	const emptyList, appendOne, stop = "]", "a", "."
	body := bytes.TrimSuffix(pickle, []byte(stop))
	if len(body) == len(pickle) {
		return bytes.Clone(pickle) // it is none; the reader says so
	}
	return slices.Concat([]byte(emptyList), body, []byte(appendOne+stop))
}
