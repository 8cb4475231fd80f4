package convert

import (
	"net/url"
	"path"
	"strings"
	"unicode/utf8"
)

// partition is a column whose value is in the name of a directory, as Spark, Hive and pyarrow write
// data sets: year=2024/month=01/part-0.parquet.
type partition struct {
	name  string
	value []byte // nil if it is missing
}

// missingPartition means a missing value in the name of a directory.
const missingPartition = "__HIVE_DEFAULT_PARTITION__"

// partitionsOf returns the columns that the directories in name define, except those that the file
// has.
func partitionsOf(name string, root *parquetNode) []partition {
	has := map[string]bool{}
	for _, child := range root.children {
		has[child.name] = true
	}
	var list []partition
	for dir := range strings.SplitSeq(path.Dir(name), "/") {
		key, value, ok := strings.Cut(dir, "=")
		if key = unescaped(key); !ok || key == "" || has[key] {
			continue
		}
		has[key] = true
		p := partition{name: key}
		if value != missingPartition {
			p.value = []byte(unescaped(value))
		}
		list = append(list, p)
	}
	return list
}

// unescaped resolves %3D and the like if the result is text.
func unescaped(s string) string {
	if plain, err := url.PathUnescape(s); err == nil && utf8.ValidString(plain) {
		return plain
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// encode encodes the column.
func (p partition) encode(enc Encoder) {
	enc.Key(p.name)
	if p.value == nil {
		enc.Nil()
		return
	}
	enc.String(p.value)
}
