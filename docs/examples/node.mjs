// node node.mjs PHOTO PICTURE
import { readFile, writeFile } from "node:fs/promises";
import { convert } from "./convert.mjs";

const [source, target] = process.argv.slice(2);
const url = process.env.ANIMEGAN_URL ?? "http://127.0.0.1:8000";
try {
  const picture = await convert(new Blob([await readFile(source)]), { size: 800, format: "webp" }, url);
  await writeFile(target, Buffer.from(await picture.arrayBuffer()));
} catch (error) {
  console.error(`${source}: ${error.message} [${error.code ?? error.cause?.code}]`);
  process.exitCode = 1;
}
