// Elements, and lines of text in colours. Whatever comes from a program is put into the page as text, never as HTML.

/** An element with attributes (`on...` are listeners) and children, which are elements or strings. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const IR_TOKENS = [
  ["remark", /\/\/.*/y],
  ["string", /"(?:[^"\\]|\\.)*"/y],
  ["name", /[%@^][\w$.]+/y],
  ["type", /![\w.]+|#[\w.]+/y],
  ["word", /\b[a-z_]+\.[\w.]+/y],
  ["number", /\b\d[\w.+]*|-\d[\w.+]*/y],
];
const PYTHON_TOKENS = [
  ["remark", /#.*/y],
  ["string", /[rbfRBF]{0,2}(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/y],
  ["word", /\b(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|None|True|False)\b/y],
  ["name", /@[\w.]+|\bself\b/y],
  ["number", /\b\d[\w.]*/y],
];
const MACHINE_TOKENS = [
  ["string", /"(?:[^"\\]|\\.)*"/y],
  ["name", /[%@$][\w$.]+/y],
  ["type", /\b(?:i\d+|float|double|half|ptr|void|x)\b|\.(?:[bfsu]\d+|pred)\b/y],
  ["word", /\b(?:[a-z][a-z_]*\.)+[a-z0-9_.]+|\b(?:define|declare|call|load|store|br|ret|phi|label|getelementptr)\b/y],
  ["number", /\b\d[\w.]*/y],
];
const LANGUAGES = { python: PYTHON_TOKENS, llvm: [["remark", /;.*/y], ...MACHINE_TOKENS], ptx: [["remark", /\/\/.*/y], ...MACHINE_TOKENS], ir: IR_TOKENS };
const LANGUAGE_OF = { "host.py": "python", triton: "python", source: "python", llvm: "llvm", ptx: "ptx" };
const LONGEST = 2000; // characters of a line that are shown

/** Put a line into an element, in colours. */
function paint(row, text, language) {
  if (text.length > LONGEST) text = `${text.slice(0, LONGEST)} … ${text.length - LONGEST} more characters`;
  const tokens = LANGUAGES[language];
  let plain = 0, at = 0;
  while (at < text.length) {
    let end = 0;
    if (at === 0 || !/[\w]/.test(text[at - 1]) || !/[\w]/.test(text[at])) {
      for (const [kind, pattern] of tokens) {
        pattern.lastIndex = at;
        const found = pattern.exec(text);
        if (found && found[0]) {
          if (plain < at) row.append(text.slice(plain, at));
          const span = document.createElement("span");
          span.className = `t-${kind}`;
          span.textContent = found[0];
          row.append(span);
          end = at + found[0].length;
          break;
        }
      }
    }
    if (end) plain = at = end;
    else at++;
  }
  if (plain < text.length) row.append(text.slice(plain));
}
