package convert

import (
	"archive/zip"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// npzFormat reads archives as numpy.savez and savez_compressed write them. The record is a map of
// row i of each array by its name, in the order of the archive; all arrays must have the same
// number of rows.
var npzFormat = Format{
	Name:       "npz",
	Doc:        "numpy.savez: row i of each array, as a map",
	Extensions: []string{".npz"},
	open:       openNPZ,
}

// maxArrays bounds the arrays of an archive, since all are read at the same time.
const maxArrays = 1024

// npzDecoder decodes the rows of all arrays in parallel.
type npzDecoder struct {
	arrays []npzArray
	n      int64
}

type npzArray struct {
	name string
	rows *npyRows
	file io.Reader // source of the rows
}

func openNPZ(in Input, opts Options) (Decoder, error) {
	if in.ReaderAt == nil {
		return nil, faultf(ErrUnsupported, "an .npz is read from its end, so not from a pipe and not inside gzip or zstd; decompress it into a file")
	}
	in.ReaderAt = io.NewSectionReader(in.ReaderAt, 0, in.Size) // has an end on both sides
	archive, err := zip.NewReader(in.ReaderAt, in.Size)
	if err != nil {
		return nil, zipError("the archive", err)
	}
	if len(archive.File) > maxArrays {
		return nil, faultf(ErrLimit, "an archive of %d arrays; at most %d are read", len(archive.File), maxArrays)
	}
	d := &npzDecoder{}
	limits := opts.Limits.withDefaults()
	for _, f := range archive.File {
		if err := d.add(in, f, limits); err != nil {
			return nil, err
		}
	}
	return d, d.checkCounts()
}

// add opens one array of the archive.
func (d *npzDecoder) add(in Input, f *zip.File, limits Limits) error {
	name, ok := strings.CutSuffix(f.Name, ".npy")
	if !ok || !utf8.ValidString(name) {
		return faultf(ErrSyntax, "%q in the archive is not an array", f.Name)
	}
	for _, a := range d.arrays {
		if a.name == name {
			return faultf(ErrSyntax, "two arrays named %q in the archive", name)
		}
	}
	member, err := openMember(in, f)
	if err != nil {
		return zipError(f.Name, err)
	}
	rows, err := openNPY(member, limits)
	if err != nil {
		return zipError(f.Name, checksumOr(member.Reader, err))
	}
	d.arrays = append(d.arrays, npzArray{name, rows, member.Reader})
	return nil
}

// openMember opens a file of the archive. An uncompressed file has random access and a known size;
// the size of a compressed one is only a claim of the archive.
func openMember(in Input, f *zip.File) (Input, error) {
	r, err := f.Open()
	if err != nil {
		return Input{}, err
	}
	member := Input{Name: f.Name, Reader: memberReader{r}, Size: -1}
	if f.Method != zip.Store {
		return member, nil
	}
	off, err := f.DataOffset()
	if err != nil {
		return Input{}, err
	}
	size := int64(f.UncompressedSize64)
	if size < 0 || size > in.Size-off {
		return Input{}, faultf(ErrTruncated, "%d bytes by the archive, and only %d are left", f.UncompressedSize64, in.Size-off)
	}
	member.ReaderAt, member.Size = io.NewSectionReader(in.ReaderAt, off, size), size
	return member, nil
}

// checksumOr reads file to its end, where the archive verifies its checksum. It returns a checksum
// error, which explains err, or else err.
func checksumOr(file io.Reader, err error) error {
	const most = 1 << 30
	if _, bad := io.CopyN(io.Discard, file, most); errors.Is(bad, ErrChecksum) {
		return bad
	}
	return err
}

// memberReader classifies damage of the compressed bytes.
type memberReader struct{ r io.Reader }

func (m memberReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if err != nil && err != io.EOF {
		err = zipFault(err)
	}
	return n, err
}

// zipError adds the name of the file in the archive to an error, and classifies it.
func zipError(name string, err error) error { return fmt.Errorf("%s: %w", name, zipFault(err)) }

// zipFault classifies an error of the archive. Errors of the input stay unchanged.
func zipFault(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, zip.ErrChecksum):
		return faultf(ErrChecksum, "does not match its checksum")
	case errors.Is(err, zip.ErrFormat), errors.As(err, &corrupt):
		return faultf(ErrDamaged, "damaged, or not a zip archive")
	case errors.Is(err, zip.ErrAlgorithm):
		return faultf(ErrUnsupported, "compressed by an unknown method")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return faultf(ErrTruncated, "cut off in the middle")
	}
	return err
}

// checkCounts requires the same number of rows of all arrays.
func (d *npzDecoder) checkCounts() error {
	if len(d.arrays) == 0 {
		return faultf(ErrSyntax, "no array in the archive")
	}
	first := d.arrays[0]
	for _, a := range d.arrays {
		if a.rows.single {
			return faultf(ErrUnsupported, "array %q is a single number, which has no rows", a.name)
		}
		if a.rows.count != first.rows.count {
			return faultf(ErrSyntax, "array %q has %d rows, array %q has %d: they make no samples",
				first.name, first.rows.count, a.name, a.rows.count)
		}
	}
	return nil
}

// columns implements described: the arrays.
func (d *npzDecoder) columns() (list []Column) {
	for _, a := range d.arrays {
		list = append(list, Column{Name: a.name, Type: a.rows.typ.typeText(a.rows.shape)})
	}
	return list
}

func (d *npzDecoder) Next(enc Encoder) error {
	if d.n == d.arrays[0].rows.count {
		return d.finish()
	}
	d.n++
	enc.Map(len(d.arrays))
	var bad error
	for _, a := range d.arrays {
		row, err := a.rows.next()
		if err != nil {
			return zipError(a.name, err)
		}
		enc.Key(a.name)
		if err := a.rows.typ.encode(enc, row, a.rows.shape); err != nil && bad == nil {
			bad = &RecordError{Row: d.n, Offset: -1, Err: fmt.Errorf("array %q: %w", a.name, err)}
		}
	}
	enc.End()
	return bad
}

// finish returns io.EOF if all arrays end correctly and match their checksums, which the archive
// verifies at their ends.
func (d *npzDecoder) finish() error {
	for _, a := range d.arrays {
		if err := a.rows.finish(); err != io.EOF {
			return zipError(a.name, checksumOr(a.file, err))
		}
		if _, err := io.Copy(io.Discard, a.file); err != nil {
			return zipError(a.name, err)
		}
	}
	return io.EOF
}
