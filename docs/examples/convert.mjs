// For browsers and Node 18 or newer.

/** A photo (Blob or File) -> the picture (Blob). `parameters` are those of POST /convert. */
export async function convert(photo, parameters = {}, url = "") {
  const form = new FormData();
  form.append("file", photo, photo.name ?? "photo");
  for (const [name, value] of Object.entries(parameters)) form.append(name, value);
  const answer = await fetch(`${url}/convert`, { method: "POST", body: form, headers: { Accept: "image/*" } });
  if (!answer.ok) {
    const ours = answer.headers.get("Content-Type") === "application/problem+json"; // else a gateway before it says so
    const problem = ours ? await answer.json() : { code: `HTTP ${answer.status}`, detail: "The service gave no answer." };
    throw Object.assign(new Error(problem.detail), { code: problem.code, retryAfter: answer.headers.get("Retry-After") });
  }
  return answer.blob();
}
