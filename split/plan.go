package split

import "fmt"

// Plan assigns records to files. It is a plain value.
type Plan struct {
	Files []File `json:"files"`
}

// File is one file of a plan, with the records First, First+Step, ..., Records of them.
type File struct {
	Name    string `json:"name"`
	First   int64  `json:"first"`
	Step    int64  `json:"step"` // 1 for consecutive records
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes,omitempty"` // of the records; 0 if the plan was made without sizes
}

// Records returns the number of records in all files.
func (p Plan) Records() int64 {
	var sum int64
	for _, f := range p.Files {
		sum += f.Records
	}
	return sum
}

// Plan computes the plan of total records without reading them, in time and memory proportional to
// the number of files. Bytes depends on the sizes of the records (ErrNeedsSizes); a rule with another WithCount is
// ErrCount.
func (r Rule) Plan(p Pattern, total int64) (Plan, error) {
	if r.known && r.total != total {
		return Plan{}, wrongCount(r.total, total)
	}
	r = r.WithCount(total)
	if err := r.check(); err != nil {
		return Plan{}, err
	}
	if r.NeedsSizes() {
		return Plan{}, fmt.Errorf("%w to make files of %d bytes", ErrNeedsSizes, r.n)
	}
	if r.kind == roundRobin {
		return r.dealt().named(p)
	}
	return r.consecutive().named(p)
}

// dealt computes the plan of a RoundRobin of r.total records.
func (r Rule) dealt() Plan {
	var plan Plan
	for i := range r.n {
		n := r.total / r.n
		if i < r.total%r.n {
			n++
		}
		plan.Files = append(plan.Files, File{First: i, Step: r.n, Records: n})
	}
	return plan
}

// consecutive computes the plan of r.total records for rules that count consecutive records.
func (r Rule) consecutive() Plan {
	var plan Plan
	var first int64
	for i := 0; first < r.total; i++ {
		end := min(r.end(i), r.total)
		plan.Files = append(plan.Files, File{First: first, Step: 1, Records: end - first})
		first = end
	}
	if r.trailing(r.total, len(plan.Files)) {
		plan.Files = append(plan.Files, File{First: r.total, Step: 1})
	}
	return plan
}

// named sets the names.
func (p Plan) named(pattern Pattern) (Plan, error) {
	for i := range p.Files {
		name, err := pattern.Name(i, len(p.Files))
		if err != nil {
			return Plan{}, err
		}
		p.Files[i].Name = name
	}
	return p, nil
}

func wrongCount(want, got int64) error {
	return fmt.Errorf("%w: %d were announced, but there are %d: count again", ErrCount, want, got)
}
