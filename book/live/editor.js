// The editor of a live cell, made of CodeMirror. `make book` bundles it; a page loads it when a reader first presses Edit.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

// Until the editor loses the focus, Tab leaves it: the way out for a reader who has no mouse.
const leave = (view) => { view.setTabFocusMode(true); return false; };
const stay = (event, view) => { view.setTabFocusMode(false); };

// Put an editor before `next`. `first` is the number of its first line; `label` is what a screen reader says of it.
export const edit = ({ next, text, first, label, changed, run }) => {
  const go = () => { run(); return true; };
  const view = new EditorView({
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of([
          { key: "Mod-Enter", run: go },
          { key: "Shift-Enter", run: go },
          { key: "Escape", run: leave },
        ])),
        keymap.of([indentWithTab, ...defaultKeymap, ...historyKeymap]),
        history(),
        lineNumbers({ formatNumber: (number) => String(number + first - 1) }),
        indentUnit.of("    "),
        indentOnInput(),
        bracketMatching(),
        pythonLanguage,
        syntaxHighlighting(classHighlighter),
        EditorView.domEventHandlers({ blur: stay }),
        EditorView.contentAttributes.of({ "aria-label": label, autocapitalize: "off", autocomplete: "off", spellcheck: "false" }),
        EditorView.updateListener.of((update) => { if (update.docChanged) changed(); }),
      ],
    }),
  });
  next.before(view.dom);
  return {
    get text() { return view.state.doc.toString(); },
    focus: () => view.focus(),
    remove: () => view.destroy(),
  };
};
