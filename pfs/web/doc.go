// Package web is the explorer in the browser: pages below /ui/ with which a user logs in, browses, uploads,
// downloads, renames and deletes, and runs training jobs.
//
// The pages are made here, by html/template, and work without a script. The one script adds what a form cannot
// do: folders that are dropped, progress, and uploads that go on after a reload or a crash of the service.
//
// # Sessions
//
// A login sets two cookies, which scripts cannot read: an access token and a refresh token of package auth. So a
// session lasts as long as one of paddlectl, ends with the account, its password or its role, and is known to all
// replicas. The browser sends the cookies only with requests from these pages (SameSite=Strict). A request that
// changes something must also say that it comes from these pages (Sec-Fetch-Site or Origin), and must carry the
// token of the session that the pages have.
//
// # Uploads
//
// The script sends a file in leaves by the upload session of package wire; its requests are translated here, and
// are then requests of that protocol: the same limits, digests and audit lines. A browser has no XXH3, so it sends
// the SHA-256 of each leaf. The bytes are compared with it as they pass, and the answer is the leaf's XXH3. The
// commit carries the XXH3 of all leaves, so the service publishes only what the browser has sent. After an
// interruption the script asks for the digests of the leaves that are staged, and goes on where they end.
//
// # What a file may do
//
// Nothing. A file is always sent as an attachment, with a type that no browser shows, and below a policy that
// would not run it. Only images of three formats have their type, for the page of the file. What a page shows of a file is
// bounded in time and bytes, and always text of a template.
//
// # Jobs
//
// The pages of jobs ask engines by the methods of jobhttp, as requests of the user at the service: with the same limits,
// checks and audit lines as paddlectl. What an engine does not answer in time comes from the store. The file that a user types
// is checked by package jobfile in the user's turns.
//
// # Files
//
//	web                 Config, the routes, the headers of all answers
//	enter, login        who asks, and where the request comes from; logging in and out
//	page                templates and what they call
//	list, file          a folder, a page at a time; the page of a file
//	preview             what the page of a file shows: text, or
//	previewdata         tables, JSON and manifests of datasets,
//	previewimage        images,
//	previewrecords      records of RecordIO files
//	share               links for people without an account
//	raw, zip, zipname   downloads of files, of folders, and the names in archives
//	change, usage       new folders, new names, deleting; usage and quotas
//	form                uploads by a form
//	send, service       uploads by the script, as requests of package wire
//	jobs, job           the list of jobs, and the requests to engines; the page of a job, stopping and deleting
//	joblog              the log of a job, as it comes
//	jobnew              new jobs by a form, and job files
package web
