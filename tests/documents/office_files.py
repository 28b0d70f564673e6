"""Makes Office and EPUB files with as little in them as their readers need."""

from __future__ import annotations

import io
import zipfile

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def packed(parts: dict[str, bytes | str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return file.getvalue()


def core(title: str = "", author: str = "", head: str = "") -> str:
    return (
        f'{head}<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator></cp:coreProperties>"
    )


def paragraph(text: str, style: str = "", extra: str = "") -> str:
    chosen = f'<w:pStyle w:val="{style}"/>' if style else ""
    return (
        f"<w:p><w:pPr>{chosen}{extra}</w:pPr>"
        f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'
    )


def item(text: str, level: int) -> str:
    numbering = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>'
    return paragraph(text, extra=numbering)


STYLES = "".join(
    f'<w:style w:type="paragraph" w:styleId="{ident}"><w:name w:val="{name}"/></w:style>'
    for ident, name in (
        ("berschrift1", "heading 1"), ("Titre2", "heading 2"), ("Titel", "Title"), ("a1", "Normal"),
    )
)  # fmt: skip
_LEVELS = "".join(f'<w:lvl w:ilvl="{n}"><w:numFmt w:val="bullet"/></w:lvl>' for n in range(3))


def docx(body: str, head: str = "", notes: str = "", **more: bytes | str) -> bytes:
    """A Word file: `body` and `notes` are WordprocessingML, `head` stands before the root."""
    types = {
        "document": "document.main", "styles": "styles", "numbering": "numbering",
        "footnotes": "footnotes",
    }  # fmt: skip
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    links = "".join(
        f'<Relationship Id="r{name}" Type="{_OFFICE}/{name}" Target="{name}.xml"/>'
        for name in list(types)[1:]
    )
    links += (
        f'<Relationship Id="rLink" Type="{_OFFICE}/hyperlink" Target="https://example.org/a(b)" '
        'TargetMode="External"/>'
    )
    relationships = f'<Relationships xmlns="{_PACKAGE}/relationships">'
    space = f'xmlns:w="{_W}" xmlns:r="{_OFFICE}"'
    return packed(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            + "".join(
                f'<Override PartName="/word/{name}.xml" ContentType="{kind}.{what}+xml"/>'
                for name, what in types.items()
            )
            + "</Types>",
            "_rels/.rels": f'{relationships}<Relationship Id="r1" Type="{_OFFICE}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f"{relationships}{links}</Relationships>",
            "word/document.xml": f"{head}<w:document {space}><w:body>{body}</w:body></w:document>",
            "word/styles.xml": f"<w:styles {space}>{STYLES}</w:styles>",
            "word/numbering.xml": f'<w:numbering {space}><w:abstractNum w:abstractNumId="0">'
            f'{_LEVELS}</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
            "</w:numbering>",
            "word/footnotes.xml": f"<w:footnotes {space}>{notes}</w:footnotes>",
            "docProps/core.xml": core("Titled", "Ann"),
            **more,
        }
    )


def epub(chapters: dict[str, bytes | str], **more: bytes | str) -> bytes:
    """An EPUB whose chapters lie in a folder, and are read in the order given."""
    items = "".join(f'<item id="i{n}" href="{name}"/>' for n, name in enumerate(chapters))
    spine = "".join(f'<itemref idref="i{n}"/>' for n in range(len(chapters)))
    container = "urn:oasis:names:tc:opendocument:xmlns:container"
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f'<container xmlns="{container}"><rootfiles>'
            '<rootfile full-path="OEBPS/b.opf"/></rootfiles></container>',
            "OEBPS/b.opf": '<package xmlns="http://www.idpf.org/2007/opf" '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Book</dc:title>'
            "<dc:creator>Ann</dc:creator><dc:description>Long\n\n**Title:** x</dc:description>"
            f"</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{f"OEBPS/{name.replace('%20', ' ')}": data for name, data in chapters.items()},
            **more,
        }
    )
