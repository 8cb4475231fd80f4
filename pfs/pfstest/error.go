package pfstest

import "github.com/paddlecloud/pfs/pfs"

// errorPromises are the promises about errors of all operations. Those about one operation are with
// its other promises.
var errorPromises = []promise{
	{says: "a missing name answers NotExist", check: func(e *env) {
		e.each(func(op operation) bool { return op.needsName }, func(e *env, op operation) {
			MustMkdir(e, e.fs, "/dir")
			e.want(op.call(e.ctx, e.fs, "/missing"), pfs.NotExist, "/missing")
			e.want(op.call(e.ctx, e.fs, "/dir/missing"), pfs.NotExist, "/dir/missing")
		})
	}},
	{says: "a missing directory on the way answers NotExist", needs: NoEmptyDir, check: func(e *env) {
		const name = "/missing/parent/name"
		e.each(func(op operation) bool { return op.needsName || op.makesName }, func(e *env, op operation) {
			e.want(op.call(e.ctx, e.fs, name), pfs.NotExist, upwards(name)...)
			WantNames(e, e.fs, pfs.Root, otherFile.Base())
		})
	}},
	// Below a file, NotExist and NotDir are right, except from operations that would make something
	// there.
	{says: "a file on the way is never passed through", check: func(e *env) {
		const name = "/file/name"
		e.each(func(op operation) bool { return op.needsName || op.makesName }, func(e *env, op operation) {
			WriteFile(e, e.fs, "/file", []byte("a file"))
			kinds := []pfs.Kind{pfs.NotDir, pfs.NotExist}
			if op.makesName {
				kinds = kinds[:1]
			}
			e.wantOneOf(op.call(e.ctx, e.fs, name), kinds, upwards(name)...)
			WantFile(e, e.fs, "/file", []byte("a file"))
		})
	}},
	{says: "a directory in place of a file answers IsDir", check: func(e *env) {
		e.each(func(op operation) bool { return op.needsFile }, func(e *env, op operation) {
			MustMkdir(e, e.fs, "/dir/below")
			WriteFile(e, e.fs, "/dir/below/f", nil)
			e.want(op.call(e.ctx, e.fs, "/dir"), pfs.IsDir, "/dir")
			e.want(op.call(e.ctx, e.fs, "/dir/below"), pfs.IsDir, "/dir/below")
		})
	}},
	{says: "a file in place of a directory answers NotDir to List", check: func(e *env) {
		WriteFile(e, e.fs, "/file", nil)
		e.want(errOf(e.fs.List(e.ctx, "/file", pfs.ListOptions{})), pfs.NotDir, "/file")
	}},
	{says: "an operation that fails changes nothing", needs: NoEmptyDir, check: func(e *env) {
		e.each(func(op operation) bool { return op.makesName }, func(e *env, op operation) {
			MustMkdir(e, e.fs, "/dir")
			before := MustStat(e, e.fs, otherFile)
			if op.call(e.ctx, e.fs, "/missing/name") == nil {
				e.Fatal("success in a directory that is not there")
			}
			WantNames(e, e.fs, pfs.Root, "dir", otherFile.Base())
			WantNames(e, e.fs, "/dir")
			e.sameInfo("a file that was not touched", MustStat(e, e.fs, otherFile), before)
		})
	}},
}
