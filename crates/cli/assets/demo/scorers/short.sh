# A `command` scorer: one JSON request a line comes in, one JSON verdict a line goes out.
# It passes answers of at most 40 characters. Requests are canonical JSON, so the members
# stand in order: the answer comes first, the choices behind it.
while IFS= read -r line; do
  answer=${line#*\"answer\":\"}
  answer=${answer%%\",\"choices\":*}
  passed=false
  [ ${#answer} -le 40 ] && passed=true
  printf '{"passed":%s,"explanation":"%s characters"}\n' "$passed" "${#answer}"
done
