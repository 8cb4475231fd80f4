package web

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/payload"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// recordMagic begins a RecordIO file.
var recordMagic = []byte{4, 3, 2, 1}

const (
	recordsShown   = 10
	recordsCounted = 1000     // for the statistics
	recordLength   = 4 << 10  // characters that are shown of one
	recordDecoded  = 1 << 20  // bytes of a record that is decoded
	recordChunk    = 40 << 20 // the largest chunk that is read
	recordDepth    = 32
	recordIndex    = 16 << 20 // bytes of an index beside the file
	damageShown    = 10
)

// recordsPage is a page of records.
type recordsPage struct {
	Path       pfs.Path
	Records    []record
	First      int64
	Last       int64
	Total      int64 // -1 if unknown
	Prev, Next string
}

// record is a record as a page shows it.
type record struct {
	Number int64
	Size   string
	Text   string
}

// records shows a RecordIO file: from the record that the address asks for, its records and what they contain.
func (r *reading) records(v *visit) (*preview, error) {
	f, err := r.openRecords()
	if err != nil {
		return r.scanned(err)
	}
	p := &preview{Heading: "RecordIO"}
	first, err := strconv.ParseInt(v.URL.Query().Get("record"), 10, 64)
	if err != nil || first < 0 {
		first = 0
	}
	first = min(first, max(0, f.Len()-1))
	page := &recordsPage{Path: r.name, First: first, Last: first - 1, Total: f.Len()}
	p.Records = page
	encoding := r.schema(p)
	stats := recordio.NewLengthStats(false)
	for rec, err := range f.Range(first, min(f.Len(), first+recordsCounted)) {
		if err != nil {
			p.Problem = recordProblem(err)
			break
		}
		if n := len(page.Records); n < recordsShown {
			text, known := shownRecord(rec, cmp.Or(encoding, payload.Guess(rec)))
			if encoding == "" {
				encoding = payload.Guess(rec)
				if known {
					p.Facts = append(p.Facts, fact{"Payload", encoding + ", as the record looks"})
				}
			}
			if n == 0 {
				p.Facts = append(p.Facts, fieldsOf(text)...)
			}
			page.Records = append(page.Records, record{first + int64(n), size(int64(len(rec))), short(text, recordLength)})
			page.Last = first + int64(n)
		}
		stats.Add(rec)
		if r.ctx.Err() != nil || r.left.Load() < recordChunk { // enough for statistics
			break
		}
	}
	p.Facts = slices.Concat(r.recordFacts(f, stats, first), p.Facts)
	if first > 0 {
		page.Prev = r.recordsAt(max(0, first-recordsShown))
	}
	if page.Last+1 < page.Total {
		page.Next = r.recordsAt(page.Last + 1)
	}
	if p.Problem != "" {
		page.Next = r.recordsAt(page.Last + 2)
	}
	return p, nil
}

// openRecords opens the file with the index beside it, if there is one that matches, and else by the headers of its chunks.
func (r *reading) openRecords() (*recordio.File, error) {
	opts := recordio.OpenOptions{MaxChunkBytes: recordChunk}
	if beside, err := r.v.reading(r.name.Parent().Join(recordio.IndexName(r.name.Base()))); err == nil {
		defer beside.close()
		if n := beside.info.Size; n <= recordIndex {
			opts.Index, _ = recordio.ReadIndex(io.NewSectionReader(beside, 0, n), r.info.Size)
		}
	}
	f, err := recordio.Open(r, r.info.Size, opts)
	if opts.Index != nil && errors.Is(err, recordio.Stale) {
		opts.Index = nil
		return recordio.Open(r, r.info.Size, opts)
	}
	return f, err
}

// recordsAt returns the address of the page that begins with a record.
func (r *reading) recordsAt(n int64) string {
	return address("files", r.name) + "?record=" + strconv.FormatInt(n, 10) + "#records"
}

// recordFacts describes the file, and the lengths of some records.
func (r *reading) recordFacts(f *recordio.File, stats *recordio.LengthStats, first int64) []fact {
	chunks := f.Chunks()
	facts := []fact{{"Records", grouped(f.Len())}, {"Chunks", grouped(int64(len(chunks)))}}
	if len(chunks) > 0 {
		facts = append(facts, fact{"Compression", chunks[0].Compressor.String()})
	}
	if f.Indexed() {
		facts = append(facts, fact{"Index", "yes"})
	}
	if stats.Records > 0 {
		facts = append(facts, fact{
			"Length", fmt.Sprintf("%s to %s bytes, median %s (records %s to %s)", grouped(int64(stats.Shortest)), grouped(int64(stats.Longest)),
				grouped(int64(stats.Median())), grouped(first), grouped(first+stats.Records-1)),
		})
	}
	return facts
}

// shardName is the name of a shard: that of its dataset, its number, and "count" or "last".
var shardName = regexp.MustCompile(`^(.+)-\d+-of-\d+(\.[a-z]+)?$`)

// schema adds the columns that the manifest beside the file states, and returns the encoding of the records, empty if
// there is no manifest.
func (r *reading) schema(p *preview) (encoding string) {
	m := shardName.FindStringSubmatch(r.name.Base())
	if m == nil {
		return ""
	}
	beside, err := r.v.reading(r.name.Parent().Join(manifest.FileName(m[1])))
	if err != nil {
		return ""
	}
	defer beside.close()
	text, err := beside.head(maxManifest + 1)
	if err != nil || len(text) > maxManifest {
		return ""
	}
	set, err := manifest.Decode(text)
	if err != nil {
		return ""
	}
	p.Facts = append(p.Facts, fact{"Dataset", visible([]byte(set.Name))}, fact{"Payload", visible([]byte(set.Payload))})
	for i, c := range set.Columns[:min(len(set.Columns), previewLines)] {
		p.Facts = append(p.Facts, fact{fmt.Sprintf("Column %d", i+1), short(visible([]byte(c.Name+": "+c.Type)), previewCell)})
	}
	return set.Payload
}

// shownRecord returns a record as text: its value as JSON if the record is known to be of the encoding, else text as it is and
// anything else as numbers.
func shownRecord(rec []byte, encoding string) (text string, known bool) {
	if len(rec) <= recordDecoded {
		value := rec
		if encoding == payload.Msgpack {
			enc := convert.Shown.New(convert.Limits{Record: 2 * recordDecoded, Depth: recordDepth})
			if payload.Walk(rec, enc, recordDepth) == nil && enc.Err() == nil {
				value, known = enc.Append(nil), true
			}
		}
		if known || encoding == payload.JSON {
			if out, err := indented(value); err == nil {
				return visible(out), true
			}
		}
	}
	p := rec
	if len(p) > recordLength {
		p = wholeRunes(p[:recordLength])
	}
	if notText(p) < 0 {
		return visible(p), false
	}
	return hex.Dump(rec[:min(len(rec), previewHex)]), false
}

// fieldsOf describes the fields of a record that is a map in JSON.
func fieldsOf(text string) (facts []fact) {
	var fields map[string]json.RawMessage
	if len(text) > recordDecoded || json.Unmarshal([]byte(text), &fields) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(fields))[:min(len(fields), previewLines)] {
		facts = append(facts, fact{"Field " + short(name, previewCell), kindOf(fields[name])})
	}
	return facts
}

// kindOf names the type of a JSON value.
func kindOf(v json.RawMessage) string {
	switch v[0] {
	case '{':
		return "map"
	case '[':
		var values []json.RawMessage
		_ = json.Unmarshal(v, &values)
		return fmt.Sprintf("array of %d", len(values))
	case '"':
		return "text"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "nothing"
	}
	return "number"
}

// scanned shows the first records of a file whose chunks cannot all be found: because it is damaged, which is shown with the
// places, or because it has too many.
func (r *reading) scanned(cause error) (*preview, error) {
	p := &preview{Heading: "RecordIO", Records: &recordsPage{Path: r.name, Total: -1}}
	switch {
	case errors.Is(cause, errTooMuch), r.ctx.Err() == context.DeadlineExceeded:
		p.Note = "The first records. The file has too many chunks to be read at random here: an index beside it helps (paddlectl recordio index)."
		r.again()
	case !errors.As(cause, new(*recordio.Error)):
		return nil, cause
	default:
		p.Problem = recordProblem(cause)
		p.Note = "The first records that can be read. paddlectl recordio verify lists all damage, and repair makes a file of what is left."
	}
	var more int
	s := recordio.NewScanner(io.NewSectionReader(r, 0, r.info.Size), recordio.ScanOptions{
		Policy: recordio.Salvage, MaxChunkBytes: recordChunk,
		OnDamage: func(d recordio.Damage) {
			if len(p.Problems) == damageShown {
				more++
				return
			}
			p.Problems = append(p.Problems, fmt.Sprintf("Bytes %s to %s: %v", grouped(d.Offset), grouped(d.Offset+d.Bytes), recordProblem(d.Err)))
		},
	})
	defer s.Close()
	for len(p.Records.Records) < recordsShown && s.Scan() {
		rec := s.Bytes()
		n := int64(len(p.Records.Records))
		text, _ := shownRecord(rec, payload.Guess(rec))
		p.Records.Records = append(p.Records.Records, record{n, size(int64(len(rec))), short(text, recordLength)})
		p.Records.Last = n
	}
	if more > 0 {
		p.Problems = append(p.Problems, fmt.Sprintf("And %d more places.", more))
	}
	return p, nil
}

// recordProblem returns the text of an error, which has the place in the file.
func recordProblem(err error) string {
	if wrong := new(recordio.Error); errors.As(err, &wrong) && !errors.Is(err, errTooMuch) {
		return visible([]byte(wrong.Error()))
	}
	return previewProblem(err)
}
