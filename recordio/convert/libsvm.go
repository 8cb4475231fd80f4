package convert

import "bytes"

// libsvmFormat reads the sparse format of LIBSVM and SVMlight: a label, then index:value pairs with
// growing indices, then an optional comment behind "#". The record is a map:
//
//	label   a number, or an array of numbers if there are several with commas, or none:
//	        a line without a label begins with a blank
//	qid     the query of SVMlight's ranking, only where the line has one
//	index   the indices as written, an array of integers
//	value   the values, an array as long
var libsvmFormat = Format{
	Name:       "libsvm",
	Doc:        "LIBSVM and SVMlight: label, index and value of the features of each line",
	Extensions: []string{".libsvm", ".svm", ".svmlight"},
	lines:      func(Options) lineFormat { return &libsvmLines{} },
}

type libsvmLines struct{ newlines }

// blank implements lineFormat: a comment alone is not a sample.
func (l *libsvmLines) blank(line []byte) bool {
	line, _, _ = bytes.Cut(line, []byte("#"))
	return l.newlines.blank(line)
}

func (*libsvmLines) parser() lineParser { return &libsvmParser{} }

type libsvmParser struct {
	lineCursor
	index []int64
	value []float64
}

func (p *libsvmParser) parse(enc Encoder) (start, end int, err error) {
	for {
		line, start, end, err := p.line()
		if err != nil {
			return start, end, err
		}
		line, _, _ = bytes.Cut(line, []byte("#"))
		label, features := cutBlank(line)
		if len(label) == 0 {
			continue
		}
		if unlabelled(line, label) {
			label, features = nil, line
		}
		return start, end, p.sample(label, features, enc)
	}
}

// unlabelled reports whether a line, whose first word is given, has no label. In multi-label data
// that is a sample of no class.
func unlabelled(line, word []byte) bool {
	return blank(line[0]) && bytes.IndexByte(word, ':') > 0
}

// cutBlank returns the first word of p, and the rest.
func cutBlank(p []byte) (word, rest []byte) {
	i := 0
	for i < len(p) && blank(p[i]) {
		i++
	}
	start := i
	for i < len(p) && !blank(p[i]) {
		i++
	}
	return p[start:i], p[i:]
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

func (p *libsvmParser) sample(label, features []byte, enc Encoder) error {
	p.index, p.value = p.index[:0], p.value[:0]
	word, rest := cutBlank(features)
	qid, ranked := bytes.CutPrefix(word, []byte("qid:"))
	if ranked {
		features = rest
	}
	if err := p.features(features); err != nil {
		return err
	}
	enc.Map(-1)
	enc.Key("label")
	if err := p.label(label, enc); err != nil {
		return err
	}
	if ranked {
		v, ok := parseInt(qid)
		if !ok {
			return faultf(ErrSyntax, "qid %s is not an integer", clip(qid))
		}
		enc.Key("qid")
		enc.Int(v)
	}
	enc.Key("index")
	enc.Array(len(p.index))
	for _, v := range p.index {
		enc.Int(v)
	}
	enc.End()
	enc.Key("value")
	enc.Array(len(p.value))
	for _, v := range p.value {
		enc.Float64(v)
	}
	enc.End()
	enc.End()
	return nil
}

// label encodes one label, several with commas between them, or none.
func (p *libsvmParser) label(text []byte, enc Encoder) error {
	if len(text) == 0 {
		enc.Array(0)
		enc.End()
		return nil
	}
	if bytes.IndexByte(text, ',') < 0 {
		return putLabel(text, enc)
	}
	enc.Array(-1)
	for part := range bytes.SplitSeq(text, []byte(",")) {
		if err := putLabel(part, enc); err != nil {
			return err
		}
	}
	enc.End()
	return nil
}

func putLabel(text []byte, enc Encoder) error {
	if i, ok := parseInt(text); ok {
		enc.Int(i)
	} else if f, ok := parseFloat(text); ok {
		enc.Float64(f)
	} else {
		return faultf(ErrSyntax, "the label %s is not a number", clip(text))
	}
	return nil
}

// features parses the pairs of a line.
func (p *libsvmParser) features(rest []byte) error {
	last := int64(-1)
	for {
		var pair []byte
		if pair, rest = cutBlank(rest); len(pair) == 0 {
			return nil
		}
		key, text, ok := bytes.Cut(pair, []byte(":"))
		index, isInt := parseInt(key)
		value, isFloat := parseFloat(text)
		switch {
		case !ok || !isInt || !isFloat:
			return faultf(ErrSyntax, "%s is not index:value", clip(pair))
		case index <= last:
			return faultf(ErrSyntax, "index %d comes after %d: they must grow", index, last)
		}
		last = index
		p.index, p.value = append(p.index, index), append(p.value, value)
	}
}
