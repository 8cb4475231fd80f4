package convert

import (
	"encoding/binary"
	"fmt"
)

// maxSchemaDepth is the maximum nesting of a schema.
const maxSchemaDepth = 256

// checkParquetFooter checks what the library would trust: it allocates as many elements as lists
// and the schema state, and recurses as deep as the schema.
func checkParquetFooter(in Input, limit int) error {
	tail := make([]byte, 8)
	if in.Size < 12 {
		return faultf(ErrTruncated, "not a Parquet file: %d bytes are too few for one", in.Size)
	}
	if n, err := in.ReaderAt.ReadAt(tail, in.Size-8); n < len(tail) {
		return fmt.Errorf("read the end of the file: %w", err)
	}
	size := int64(binary.LittleEndian.Uint32(tail))
	switch {
	case string(tail[4:]) == "PARE":
		return faultf(ErrUnsupported, "an encrypted Parquet file")
	case string(tail[4:]) != parquetMark:
		return faultf(ErrTruncated, "the file does not end with %s: it was never finished, or it is cut off", parquetMark)
	case size > in.Size-12:
		return faultf(ErrDamaged, "a footer of %d bytes in a file of %d", size, in.Size)
	case size > int64(limit):
		return faultf(ErrLimit, "a footer of %d bytes; the limit is %d", size, limit)
	}
	footer := make([]byte, size)
	if n, err := in.ReaderAt.ReadAt(footer, in.Size-8-size); n < len(footer) {
		return fmt.Errorf("read the footer: %w", err)
	}
	return checkFileMetaData(footer)
}

// checkFileMetaData checks the bounds of all values in the footer, and its schema.
func checkFileMetaData(footer []byte) error {
	var children []int64
	w := thriftReader{rest: footer}
	err := w.structure(func(id int64, typ byte) error {
		if id != fieldSchema || typ != thriftList {
			return w.value(typ)
		}
		return w.list(func(typ byte) error {
			n, err := w.schemaElement(typ)
			children = append(children, n)
			return err
		})
	})
	if err != nil {
		return err
	}
	return checkSchemaTree(children)
}

// The footer fields used here, by their numbers in parquet.thrift.
const (
	fieldSchema      = 2 // of FileMetaData: list of SchemaElement
	fieldNumChildren = 5 // of SchemaElement: i32
)

// schemaElement returns the number of children of one element.
func (w *thriftReader) schemaElement(typ byte) (children int64, err error) {
	if typ != thriftStruct {
		return 0, errFooter
	}
	err = w.structure(func(id int64, typ byte) (err error) {
		if id != fieldNumChildren || typ != thriftI32 {
			return w.value(typ)
		}
		children, err = w.integer()
		return err
	})
	return children, err
}

// checkSchemaTree checks a tree written depth first, as numbers of children.
func checkSchemaTree(children []int64) error {
	var open []int64 // number of children still expected at each level
	for i, n := range children {
		if n < 0 || n > int64(len(children)-i-1) {
			return faultf(ErrDamaged, "element %d of the schema has %d children, and only %d follow", i, n, len(children)-i-1)
		}
		for len(open) > 0 && open[len(open)-1] == 0 {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			open[len(open)-1]--
		}
		if open = append(open, n); len(open) > maxSchemaDepth {
			return faultf(ErrLimit, "a schema that nests deeper than %d", maxSchemaDepth)
		}
	}
	return nil
}
