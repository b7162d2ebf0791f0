"""reStructuredText: directives and roles of Sphinx say what they hold, and nothing is fetched from other files."""

from __future__ import annotations

from docutils.parsers.rst import directives, roles

from tests.support.readings import placed, read, read_one

SOURCE = """\
.. _top:

Arms and legs
=============

An *elbow* bends in :ref:`one plane <x>`, see :class:`~arm.Elbow` and ``code_x``. See `docs <http://a.example>`_ [1]_.

Second part
-----------

.. note::
   Careful
   here.

.. code-block:: python
   :linenos:

   def f(x):
       return x ** 2

* item one
  goes on
* item two

.. versionadded:: 3.1
   Something was added.

.. tip:: A title
   :class: x

.. math:: E = mc^2

.. include:: /etc/passwd
.. raw:: html

   <script>alert(1)</script>

.. toctree::

   other

=====  =====
A      B
=====  =====
1      two
=====  =====

.. [1] A footnote.
"""

MARKDOWN = """\
# Arms and legs

An elbow bends in one plane, see `arm.Elbow` and `code_x`. See docs .

## Second part

Careful here.

```python
def f(x):
    return x ** 2
```

- item one goes on

- item two

Something was added.

A title

$$
E = mc^2
$$

| A | B |
| --- | --- |
| 1 | two |

A footnote."""


def test_a_file_becomes_markdown_without_a_build() -> None:
    reading = read_one("a/arms.rst", SOURCE)
    assert reading.text.strip() == MARKDOWN
    assert reading.anchors == ("arms-and-legs", "second-part")


def test_every_block_is_found_at_its_line() -> None:
    found = dict(placed(read_one("arms.rst", SOURCE)))
    assert found["An elbow bends in one plane, see `arm.Elbow` and `code_x`. See docs ."] == "line 6"
    assert found["def f(x):\n    return x ** 2"] == "line 18"
    assert found["item one goes on"] == "line 21"
    assert found["| 1 | two |"] == f"line {SOURCE.splitlines().index('1      two') + 1}"


def test_a_reference_without_words_of_its_own_says_those_of_its_target() -> None:
    text = "Deploy with :doc:`/deploying/apache-httpd`, see :doc:`../index`, :doc:`/tutorial/index` and :ref:`message-signing`.\n"
    (mark,) = read_one("a.rst", text).marks
    assert placed(read_one("a.rst", text)) == [("Deploy with apache httpd, see index, tutorial and message signing.", "line 1")]
    assert mark.exact


def test_what_djangos_documents_call_a_console_is_code() -> None:
    assert (
        "```\n$ python manage.py check\n```" in read_one("a.txt", "Run it:\n\n.. console::\n\n   $ python manage.py check\n").text
    )


def test_the_library_is_left_as_it_was() -> None:
    before = directives.directive, roles.role
    read("a.rst", SOURCE)
    assert (directives.directive, roles.role) == before


def test_what_is_broken_is_read_as_far_as_it_goes() -> None:
    broken = (
        "Title\n===\n\nWords before.\n\n.. figure:: x.png\n   :wrong\n\n   Caption words.\n\n:unknown:`role`\n\n  odd\n indent\n"
    )
    text = read_one("a.rst", broken).text
    assert "Words before." in text
    assert "role" in text


def test_a_file_of_comments_is_no_lesson() -> None:
    assert read("a.rst", ".. only a comment\n") == ()


def test_what_is_escaped_is_found_again() -> None:
    text = "Write a ``Closes: #``\\ *nnnnn* entry and a Vcs-\\* header, see https://a.example/x\\ .\n"
    (mark,) = read_one("a.rst", text).marks
    assert mark.exact
