# The stressors of stress-ng for files that need nothing else of the system. --verify makes them check results.
stressors="access lockf mmap rename seek"
seconds=1 instances=1 status=0
if [ "$LONG" ]; then
  stressors+=" chdir chmod copy-file dentry dir dirdeep dirmany dup fcntl filename flock fstat getdent hdd io link locka lockofd open sendfile symlink touch utime xattr"
  seconds=10 instances=2
fi
for s in $stressors; do
  stress-ng --temp-path . --"$s" $instances --timeout "$seconds" --verify --hdd-bytes 16m --dentries 200 2>"$SCRATCH/stress.log" ||
    { echo "$s: exit $?"; cat "$SCRATCH/stress.log"; status=1; }
done
exit $status
