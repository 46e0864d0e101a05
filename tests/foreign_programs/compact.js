let text = "";
process.stdin.on("data", (chunk) => (text += chunk)).on("end", () => {
  const { messages, request_at } = JSON.parse(text);
  const request = messages[request_at ?? -1];
  const system = messages.findIndex((message) => message.role !== "system");
  let cut = Math.max(system, messages.length - 12);
  while (cut < messages.length && messages[cut].role === "tool") cut++; // results stay with their calls
  const gone = messages.slice(system, cut).filter((message) => message !== request);
  if (gone.length < 2) return console.log(JSON.stringify({ fired: false }));
  const kept = messages.slice(cut);
  if (request && !kept.includes(request)) kept.unshift(request);
  const summary = { role: "user", content: `[${gone.length} earlier messages were left out.]` };
  console.log(JSON.stringify({ messages: [...messages.slice(0, system), summary, ...kept] }));
});
