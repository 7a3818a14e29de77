// The form: what the server can do, and what is wanted of it.

import { known } from "./send.js";

const DEFAULTS = { max_side: 1024, max_input_bytes: Infinity, max_input_pixels: Infinity, max_payload_bytes: 4_500_000, uploads: false };
const SIDES = [256, 512, 768, 1024, 1536, 2048, 3072, 4096];

const $ = (id) => document.getElementById(id);

/** Fill the form with what this server has; answers its limits. Rejects with Problem. */
export async function offered() {
  const { default: chosen, styles, limits, faces } = await known();
  const may = { ...DEFAULTS, ...limits };
  $("style").replaceChildren(...styles.map((style) => option(style.name, style.title || style.name, style)));
  $("style").value = chosen;
  $("face-row").hidden = !faces;
  const sides = SIDES.filter((side) => side < may.max_side).reverse();
  const most = option("", `As the photo, up to ${may.max_side} px`);
  $("size").replaceChildren(most, ...sides.map((side) => option(side, `${side} px`)));
  tellLicence();
  return may;
}

export const UNKNOWN = DEFAULTS; // limits, as long as the server has not told its own

function option(value, text, { licence = "" } = {}) {
  const made = new Option(text, value);
  made.dataset.licence = licence;
  return made;
}

function tellLicence() {
  const licence = $("style").selectedOptions[0]?.dataset.licence;
  $("licence").textContent = licence ? `Licence: ${licence}` : "";
}

/** The parameters of a conversion, as POST /convert takes them. */
export function wishes() {
  const wanted = {};
  const format = new FormData($("wishes")).get("format");
  if ($("style").value) wanted.style = $("style").value;
  if ($("size").value) wanted.size = Number($("size").value);
  if (format) wanted.format = format;
  if (format !== "png") wanted.quality = Number($("quality").value);
  if (!$("face-row").hidden && $("face").checked) wanted.face = true;
  return wanted;
}

$("style").addEventListener("change", tellLicence);
$("wishes").addEventListener("input", () => {
  $("quality-row").hidden = new FormData($("wishes")).get("format") === "png";
  $("quality-said").textContent = $("quality").value;
});
