// What went wrong, in the words of somebody who holds a photo in their hand: title, and what to do about it.

const TEXTS = {
  invalid_base64: ["The photo was damaged on its way", "Try again; if it stays so, something between here and the server changes what is sent."],
  empty_image: ["There is nothing in that file", "It has no bytes. Choose another photo."],
  payload_too_large: ["That photo is too large to send", "Save it smaller, or as a JPEG, and try that one."],
  too_many_pixels: ["That photo has too many pixels", "Make it smaller, and try that one."],
  unsupported_format: ["That file is no photo that can be read here", "JPEG, PNG, WebP, GIF, AVIF, TIFF and BMP can. A file's name doesn't count, only what is in it."],
  corrupt_image: ["That photo is damaged", "Part of the file is missing or broken. Try the original, or another copy."],
  unknown_style: ["That style isn't here any more", "Reload the page to see the styles that there are."],
  invalid_parameter: ["The server doesn't take these settings", "Change what it names, and try again."],
  not_configured: ["This server isn't set up for that", "A smaller photo works, saved as a JPEG; and so does one without painting faces apart, if that is what is missing."],
  busy: ["Everybody wants a picture right now", "The server is still busy. Try again in a moment."],
  storage_unavailable: ["The storage doesn't answer", "That usually passes. Try again in a moment."],
  storage_refused: ["The storage refused the photo", "Whoever runs this server finds the reason in its log."],
  access_denied: ["The storage refused the photo", "Whoever runs this server finds the reason in its log."],
  source_missing: ["The uploaded photo is gone", "Uploads are kept for a while only. Send it again."],
  source_archived: ["The uploaded photo is archived", "Send it again."],
  source_changed: ["The photo changed while it was read", "Send it again."],
  out_of_time: ["There wasn't enough time", "Choose a smaller size, or try again in a moment."],
  internal_error: ["Something broke on the server", "That is a defect of ours, not of your photo. The log has the details."],
  // Not the application's own:
  closed: ["This server asks who you are", "It is open to signed requests only, which a web page cannot make."],
  bucket_closed: ["The storage for large photos lets no page in", "Save the photo as a smaller JPEG. Whoever runs this server can let this page in: its address has to be among the bucket's allowed origins."],
  unreachable: ["The server cannot be reached", "Check the connection, and try again."],
  unavailable: ["The server didn't answer in time", "Try again, with a smaller size if this happens again."],
  not_ours: ["Something else answered in the server's place", "It may be a login page, or something between here and the server. Reload the page, and try again."],
  no_picture: ["The picture was damaged on its way", "Try again; if it stays so, something between here and the server changes what it sends."],
  unreadable_file: ["The file cannot be read", "It may be a folder, or may have moved. Choose it again."],
  too_slow: ["The picture is taking too long", "It was uploaded, and nothing has come of it for five minutes. Try again later."],
  unknown: ["That didn't work", "Try again; if it stays so, tell whoever runs this server."],
};

const BY_STATUS = { 0: "unreachable", 401: "closed", 403: "closed", 413: "payload_too_large", 429: "busy", 500: "unavailable", 502: "unavailable", 503: "unavailable", 504: "unavailable" };

export const PASSES = new Set(["busy", "storage_unavailable", "out_of_time", "internal_error", "unreachable", "unavailable", "source_changed", "too_slow", "invalid_base64", "not_ours", "no_picture", "unknown"]);

export class Problem extends Error {
  constructor(code, detail = "", retryAfter = null) {
    super(detail);
    this.code = code;
    this.retryAfter = retryAfter;
  }

  get title() { return textOf(this.code)[0]; }
  get advice() { return textOf(this.code)[1]; }
}

function textOf(code) { return Object.hasOwn(TEXTS, code) ? TEXTS[code] : TEXTS.unknown; }

/** The problem that an answer is: the application's own document, or a gateway's status. */
export function problemOf(status, document, retryAfter) {
  const seconds = Number.parseInt(retryAfter ?? "", 10);
  const wait = Number.isFinite(seconds) ? Math.max(1, seconds) : null;
  const text = (...some) => some.find((one) => typeof one === "string"); // others' documents have other things there
  return new Problem(text(document?.code, BY_STATUS[status], "unknown"), text(document?.detail, document?.message, ""), wait);
}
