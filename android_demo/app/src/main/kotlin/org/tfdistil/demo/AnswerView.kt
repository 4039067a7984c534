package org.tfdistil.demo

import android.content.Context
import android.content.res.ColorStateList
import android.text.Editable
import android.text.Spanned
import android.text.style.BackgroundColorSpan
import android.view.LayoutInflater
import android.view.View
import android.widget.LinearLayout
import android.widget.TextView
import org.tfdistil.nlp.Answer
import java.text.NumberFormat

/** Shows an answer: colours in the text itself, label and score, and a line for each kind of span. */
internal class AnswerView(
    root: View,
) {
    private val context: Context = root.context
    private val label: TextView = root.findViewById(R.id.label)
    private val score: TextView = root.findViewById(R.id.label_score)
    private val rows: LinearLayout = root.findViewById(R.id.spans)
    private val percent = NumberFormat.getPercentInstance()

    /** Shows an answer, or with null that there is none. */
    fun show(
        answer: Answer?,
        colors: LabelColors,
    ) {
        label.text = headline(answer)
        score.text = answer?.labelScore?.let(percent::format).orEmpty()
        rows.removeAllViews()
        val spoken = mutableListOf("${label.text} ${score.text}".trim())
        answer?.spans?.groupBy { it.label }?.forEach { (name, spans) ->
            val texts = spans.joinToString { context.getString(R.string.scored, isolate(answer.textOf(it)), percent.format(it.score)) }
            val row = LayoutInflater.from(context).inflate(R.layout.label_row, rows, false)
            row.findViewById<TextView>(R.id.row_label).apply {
                text = name
                backgroundTintList = ColorStateList.valueOf(colors.of(name))
            }
            row.findViewById<TextView>(R.id.row_texts).text = texts
            row.contentDescription = context.getString(R.string.label_row, name, texts)
            spoken += row.contentDescription.toString()
            rows.addView(row)
        }
        label.contentDescription = spoken.joinToString(". ")
    }

    /** Colours the spans in a text field, unless it holds another text by now. */
    fun highlight(
        field: Editable,
        answer: Answer?,
        colors: LabelColors,
    ) {
        if (answer != null && answer.text != field.toString()) return
        field.getSpans(0, field.length, BackgroundColorSpan::class.java).forEach(field::removeSpan)
        answer?.spans?.forEach { span ->
            val range = answer.range(span)
            val color = BackgroundColorSpan(colors.of(span.label))
            field.setSpan(color, range.first, range.last + 1, Spanned.SPAN_EXCLUSIVE_EXCLUSIVE)
        }
    }

    private fun headline(answer: Answer?): String {
        if (answer == null) return context.getString(R.string.answer_empty)
        val label = answer.label
        val count = answer.spans.size
        return when {
            label != null -> label
            count == 0 -> context.getString(R.string.answer_no_spans)
            else -> context.resources.getQuantityString(R.plurals.answer_spans, count, count)
        }
    }

    /** A piece of any direction, kept from turning the words around it. */
    private fun isolate(text: String) = "\u2068$text\u2069"
}
