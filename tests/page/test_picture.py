"""The picture of the page in the README shows what the page of the sample says."""

from io import BytesIO

from PIL import Image

from .picture import PICTURE, REPOSITORY, SIZE, taken, words


def test_the_picture_in_the_readme_shows_the_page_of_the_sample(sample):
    assert f"]({PICTURE.relative_to(REPOSITORY)})" in (REPOSITORY / "README.md").read_text()
    with Image.open(PICTURE) as picture:
        assert picture.info["words"] == words(sample), "python -m tests.page.picture makes it anew"
        assert picture.size == tuple(SIZE.values())


def test_a_picture_is_made_of_the_page_with_its_words(browser, sample):
    with Image.open(BytesIO(taken(browser, sample))) as picture:
        assert (picture.size, picture.info["words"]) == (tuple(SIZE.values()), words(sample))
